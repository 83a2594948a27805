//! Warm-up until steady: the warm-up's body, each time with other first words so that nothing of
//! it is cached, until the decode rate stops moving. It is no part of the protocol and of no
//! record: what is kept of it are its rates.

use super::nonce;
use crate::config::WarmUp;
use crate::report::account::Account;

/// Most requests that are sent.
const MOST: usize = 12;
/// So many rates in a row make a steady state,
const IN_A_ROW: usize = 3;
/// if the greatest is at most so many times the least.
const SPREAD: f64 = 1.05;

/// Sends until steady, or until there is a reason to stop. `send` makes a request of a body.
pub(super) fn until_steady(
    body: &str,
    mut send: impl FnMut(&str) -> Account,
    interrupted: impl Fn() -> bool,
) -> WarmUp {
    let mut warm_up = WarmUp { decode_tps: Vec::new(), steady: false, problem: None };
    while !warm_up.steady && warm_up.decode_tps.len() < MOST && !interrupted() {
        let first_words = format!("Warm-up {}.", warm_up.decode_tps.len() + 1);
        let rate = nonce::prefix(body, &first_words).and_then(|body| {
            let row = send(&body).row;
            let problem = row.error.unwrap_or("the server states no decode rate".to_string());
            row.metrics.decode_tps.ok_or(problem)
        });
        match rate {
            Ok(rate) => warm_up.decode_tps.push(rate),
            Err(problem) => {
                warm_up.problem = Some(problem);
                break;
            }
        }
        warm_up.steady = is_steady(&warm_up.decode_tps);
    }
    warm_up
}

fn is_steady(rates: &[f64]) -> bool {
    let Some(last) = rates.len().checked_sub(IN_A_ROW).map(|from| &rates[from..]) else {
        return false;
    };
    let greatest = last.iter().copied().fold(f64::MIN, f64::max);
    let least = last.iter().copied().fold(f64::MAX, f64::min);
    greatest <= least * SPREAD
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::client::attempt::attempt;
    use crate::client::scripted::{Script, Scripted};
    use crate::fixture::{Honest, config};
    use crate::plan::plan;
    use crate::report::account::{Context, account};
    use crate::report::missing::Reasons;

    const BODY: &str = r#"{"messages":[{"role":"user","content":"Hi"}]}"#;

    /// Replies of these times a token, in tenths of a millisecond, then nobody listens.
    fn check(steps: &[u64], expected: (usize, bool, Option<&str>)) -> Vec<String> {
        let reply = |step: &u64| Honest { steps: vec![*step; 4], ..Honest::PLAIN }.script();
        let scripts: Vec<Script> = steps.iter().map(reply).collect();
        let transport = Scripted::new(scripts);
        let clock = transport.clock.clone();
        let protocol = config().protocol;
        let planned = &plan(&protocol, false)[0];
        let send = |body: &str| {
            let attempt = attempt(&transport, &clock, &planned.id, body);
            let context = Context {
                first_dispatch_ns: attempt.dispatch_ns,
                passed_reasons: &protocol.passed_reasons,
                not_sent: "",
            };
            account(planned, Some(&attempt), &context, &mut Reasons::default().at(""))
        };
        let found = until_steady(BODY, send, || false);
        let (sent, steady, problem) = expected;
        assert_eq!((found.decode_tps.len(), found.steady), (sent, steady), "{steps:?}");
        assert_eq!(found.problem.as_deref(), problem, "{steps:?}");
        transport.bodies.lock().unwrap().clone()
    }

    #[test]
    fn it_ends_when_the_rate_stops_moving() {
        let bodies = check(&[100, 100, 100, 100], (3, true, None));
        assert_eq!(bodies[2], BODY.replace("Hi", "Warm-up 3. Hi"));
        check(&[400, 200, 104, 100, 102, 100], (5, true, None));
        check(&[400, 200], (2, false, Some("nobody listens")));
        let moving: Vec<u64> = (0..20).map(|i| 100 + 20 * (i % 2)).collect();
        check(&moving, (MOST, false, None));
    }

    #[test]
    fn the_operator_ends_it() {
        let never = |_: &str| -> Account { panic!("nothing is to be sent") };
        let found = until_steady(BODY, never, || true);
        assert_eq!((found.decode_tps.len(), found.steady, found.problem), (0, false, None));
    }
}
