//! From a recorded reply to a request's row in the report. Pure: every figure comes from the
//! record, says where it was read, and is null with a reason where it was not there to read.

mod figures;

use crate::plan::Planned;
use crate::protocol::PassedReasons;
use crate::record::Attempt;
use crate::report::evaluate::{Answer, evaluate};
use crate::report::missing::Place;
use crate::report::number::ClientInstant;
use crate::report::transcript::{FailureKind, Transcript, transcribe};
use crate::report::{ClientOffsets, Evaluation, Request, RequestStatus};
use figures::{Figures, NONE_FAILED, NONE_SKIPPED};

/// What a row needs besides its own record.
#[derive(Debug, Clone, Copy)]
pub struct Context<'a> {
    /// Zero of the client's offsets.
    pub first_dispatch_ns: u64,
    /// The protocol's words for a passed evaluation.
    pub passed_reasons: &'a PassedReasons,
    /// Why a request without a record was not sent.
    pub not_sent: &'a str,
}

/// A row, and what the report keeps of it elsewhere.
#[derive(Debug, Clone, PartialEq)]
pub struct Account {
    /// `/requests/*`
    pub row: Request,
    /// `/extensions/client_offsets_us/*`; `None` for a request that was not sent.
    pub offsets: Option<ClientOffsets>,
    /// How it failed, if it did.
    pub failure: Option<FailureKind>,
}

/// How a planned request ended.
enum End<'a> {
    Skipped(&'a str),
    Failed(FailureKind, &'a str),
    Finished(&'a Transcript),
}

/// Accounts for `planned`; reasons of nulls go to `at`, the row's place in the report.
pub fn account(
    planned: &Planned,
    attempt: Option<&Attempt>,
    context: &Context,
    at: &mut Place,
) -> Account {
    let transcript = attempt.map(transcribe);
    let end = match transcript.as_ref().map(|read| (read, &read.failure)) {
        None => End::Skipped(context.not_sent),
        Some((read, None)) => End::Finished(read),
        Some((_, Some(failure))) if failure.kind == FailureKind::Interrupted => {
            End::Skipped("not finished: the operator interrupted the run")
        }
        Some((_, Some(failure))) => End::Failed(failure.kind, &failure.reason),
    };
    let offsets = attempt.zip(transcript.as_ref()).map(|(attempt, read)| {
        let instant = |ns| ClientInstant::from_stamps(ns, context.first_dispatch_ns);
        ClientOffsets {
            dispatch: instant(attempt.dispatch_ns),
            first_delta: read.first_delta.map(|(_, ns)| instant(ns)),
            first_answer: read.first_answer_ns.map(instant),
            end: instant(read.end_ns),
        }
    });
    let figures = match (&end, &offsets) {
        (End::Finished(read), Some(offsets)) => Figures::read(read, offsets),
        (End::Failed(..), _) => Figures::absent("the request failed", NONE_FAILED),
        _ => Figures::absent("the request was not finished", NONE_SKIPPED),
    };
    let failure = match end {
        End::Failed(kind, _) => Some(kind),
        _ => None,
    };
    Account { row: row(planned, &end, figures, context, at), offsets, failure }
}

fn row(
    planned: &Planned,
    end: &End,
    figures: Figures,
    context: &Context,
    at: &mut Place,
) -> Request {
    let (status, finish_reason, error, no_error) = match end {
        End::Skipped(why) => (RequestStatus::Skipped, None, None, *why),
        End::Failed(_, reason) => (RequestStatus::Failed, None, Some(reason.to_string()), ""),
        End::Finished(read) => {
            let truncated = read.finish_reason.as_deref() == Some("length");
            let status =
                if truncated { RequestStatus::Truncated } else { RequestStatus::Completed };
            (status, read.finish_reason.clone(), None, "none: the request ended normally")
        }
    };
    let unfinished = match end {
        End::Failed(..) => "the request failed",
        _ => "the request was not finished",
    };
    let first_delta = match end {
        End::Finished(read) => read.first_delta.map(|(kind, _)| kind),
        _ => None,
    };
    Request {
        id: planned.id.clone(),
        phase: planned.phase,
        case_id: planned.case.id.clone(),
        repetition: planned.repetition,
        seed: planned.seed,
        max_output_tokens: planned.max_output_tokens,
        concurrency: planned.concurrency,
        round: at.some("round", planned.round, "not applicable outside the concurrency stage"),
        status,
        finish_reason: at.some("finish_reason", finish_reason, unfinished),
        error: at.some("error", error, no_error),
        tokens: figures.tokens(&mut at.below("tokens")),
        timings: figures.timings(&mut at.below("timings")),
        metrics: figures.metrics(&mut at.below("metrics")),
        sources: figures.sources,
        first_delta_kind: at.some("first_delta_kind", first_delta, unfinished),
        token_accounting_note: at.some(
            "token_accounting_note",
            figures.note,
            "none: the API and engine counts agree or only one exists",
        ),
        evaluation: at.some(
            "evaluation",
            evaluation(planned, end, context),
            "not applicable outside the sanity stage",
        ),
    }
}

fn evaluation(planned: &Planned, end: &End, context: &Context) -> Option<Evaluation> {
    let (category, evaluator) =
        planned.case.category.clone().zip(planned.case.evaluator.as_ref())?;
    let (passed, reason) = match end {
        End::Finished(read) if read.finish_reason.as_deref() == Some("length") => {
            (false, "cut off at the cap before the answer ended".to_string())
        }
        End::Finished(read) => {
            let answer = Answer { text: &read.answer, tool_calls: &read.tool_calls };
            let verdict = evaluate(evaluator, context.passed_reasons, answer);
            (verdict.passed, verdict.reason)
        }
        End::Failed(..) => (false, "the request failed".to_string()),
        End::Skipped(_) => (false, "the request was not finished".to_string()),
    };
    Some(Evaluation { category, passed, reason })
}

#[cfg(test)]
mod tests;
