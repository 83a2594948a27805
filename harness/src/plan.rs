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
