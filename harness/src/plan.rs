//! From a protocol to the requests it asks for, in the order of execution and of a report. It
//! knows neither payloads nor servers.

use crate::protocol::{Case, Order, Phase, PhaseName, Protocol, Seed};

/// A request that a protocol asks for.
#[derive(Debug, Clone, PartialEq)]
pub struct Planned<'p> {
    /// `warmup`, `performance-<case>-r<repetition>`, `sanity-<case>` or
    /// `concurrency-<case>-r<repetition>`; the name of the payload too.
    pub id: String,
    /// The stage.
    pub phase: PhaseName,
    /// The case, with its stop texts and its evaluator.
    pub case: &'p Case,
    /// From 1.
    pub repetition: u32,
    /// Sent as `seed`.
    pub seed: u64,
    /// Sent as `max_tokens`.
    pub max_output_tokens: u64,
    /// Requests at a time.
    pub concurrency: u32,
    /// From 1 in the concurrency stage, where all requests of a round run at once; else `None`.
    pub round: Option<u32>,
}

/// Every request in the order of execution, those of optional stages only if asked for.
pub fn plan(protocol: &Protocol, optional: bool) -> Vec<Planned<'_>> {
    let stages = protocol.phases.iter().filter(|phase| optional || !phase.optional);
    stages.flat_map(plan_phase).collect()
}

/// The requests in parts that are sent one after the other: all of a round at once, any other
/// alone.
pub fn rounds<'a, T>(
    requests: &'a [T],
    planned: impl Fn(&T) -> &Planned<'_> + 'a,
) -> impl Iterator<Item = &'a [T]> {
    requests.chunk_by(move |a, b| {
        let (a, b) = (planned(a), planned(b));
        a.round.is_some() && a.round == b.round
    })
}

fn plan_phase(phase: &Phase) -> Vec<Planned<'_>> {
    let repetitions = 1..=phase.repetitions;
    match phase.order {
        Order::RepetitionOuter => repetitions
            .flat_map(|repetition| {
                phase.cases.iter().map(move |case| request(phase, case, repetition))
            })
            .collect(),
        Order::CaseOuter => phase
            .cases
            .iter()
            .flat_map(|case| {
                repetitions.clone().map(move |repetition| request(phase, case, repetition))
            })
            .collect(),
    }
}

fn request<'p>(phase: &'p Phase, case: &'p Case, repetition: u32) -> Planned<'p> {
    let stage = phase.phase.as_str();
    let id = match phase.phase {
        PhaseName::Warmup => stage.to_string(),
        PhaseName::Sanity => format!("{stage}-{}", case.id),
        PhaseName::Performance | PhaseName::Concurrency => {
            format!("{stage}-{}-r{repetition}", case.id)
        }
    };
    let seed = match phase.seed {
        Seed::Repetition => u64::from(repetition),
    };
    Planned {
        id,
        phase: phase.phase,
        case,
        repetition,
        seed,
        max_output_tokens: phase.max_output_tokens,
        concurrency: phase.concurrency,
        round: (phase.phase == PhaseName::Concurrency).then_some(repetition),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::corpus::Suite;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    fn check(suite: &str, optional: bool, ids: &str) {
        let suite = Suite::named(suite).unwrap();
        let planned: Vec<String> =
            plan(&suite.protocol, optional).into_iter().map(|request| request.id).collect();
        assert_eq!(planned.join(" "), ids.split_whitespace().collect::<Vec<_>>().join(" "));
    }

    const DRAFT: &str = "strata-qwen38-thinking-v1-draft.1";
    const EMBEDDED: &str = "warmup
        performance-short-r1 performance-prompt-160-r1 performance-prompt-320-r1
        performance-short-r2 performance-prompt-160-r2 performance-prompt-320-r2
        performance-short-r3 performance-prompt-160-r3 performance-prompt-320-r3
        sanity-I1 sanity-I2 sanity-I3 sanity-I4 sanity-R1 sanity-R2 sanity-R3 sanity-R4
        sanity-T1 sanity-T2 sanity-T3 sanity-T4";

    #[test]
    fn the_order_of_the_embedded_suite() {
        check("embedded-v1", false, EMBEDDED);
        let stage = "concurrency-pair-a-r1 concurrency-pair-b-r1
            concurrency-pair-a-r2 concurrency-pair-b-r2";
        check("embedded-v1", true, &format!("{EMBEDDED} {stage}"));
    }

    #[test]
    fn the_order_of_the_public_reports() {
        let suite = Suite::named(DRAFT).unwrap();
        let frozen = suite.protocol.frozen_input_tokens.as_ref().unwrap();
        let ids: Vec<&str> = frozen.keys().map(String::as_str).collect();
        check(DRAFT, true, &ids.join(" "));
    }

    #[test]
    fn rounds_count_in_the_concurrency_stage_alone() {
        let suite = Suite::named("embedded-v1").unwrap();
        let found: Vec<_> = plan(&suite.protocol, true)
            .iter()
            .filter_map(|request| Some((request.round?, request.concurrency, request.seed)))
            .collect();
        assert_eq!(found, [(1, 2, 1), (1, 2, 1), (2, 2, 2), (2, 2, 2)]);
    }

    proptest! {
        #[test]
        fn every_case_once_a_repetition(
            cases in 1usize..6,
            repetitions in 1u32..6,
            case_outer in any::<bool>(),
        ) {
            let mut protocol = Suite::named("embedded-v1").unwrap().protocol;
            let phase = protocol.phases.iter_mut().find(|p| p.phase == PhaseName::Performance);
            let phase = phase.unwrap();
            phase.repetitions = repetitions;
            phase.order = if case_outer { Order::CaseOuter } else { Order::RepetitionOuter };
            let case = phase.cases[0].clone();
            phase.cases =
                (0..cases).map(|i| Case { id: format!("c{i}"), ..case.clone() }).collect();
            let planned = plan(&protocol, false);
            let ids: BTreeSet<&str> = planned.iter().map(|request| request.id.as_str()).collect();
            prop_assert_eq!(ids.len(), planned.len());
            prop_assert_eq!(planned.len(), 1 + cases * repetitions as usize + 12);
            for request in &planned {
                prop_assert_eq!(request.seed, u64::from(request.repetition));
            }
            let performance = &planned[1..planned.len() - 12];
            let order = |r: &Planned| match case_outer {
                true => (r.case.id.clone(), r.repetition.to_string()),
                false => (r.repetition.to_string(), r.case.id.clone()),
            };
            prop_assert!(performance.is_sorted_by_key(order));
        }
    }
}
