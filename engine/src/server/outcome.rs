//! What is known of an answer at its end: measured by the queue, printed in OpenAI's shapes. Plain
//! data that knows neither.

use crate::Finish;
use std::time::Duration;

/// How a job ended, and what it took.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Outcome {
    pub(super) finish: Finish,
    pub(super) prompt_tokens: usize,
    /// Of the prompt, reused and not read again.
    pub(super) cached_tokens: usize,
    pub(super) output_tokens: usize,
    /// From taking the job to the prompt being read.
    pub(super) prompt: Duration,
    /// From there to the last token, the first decode step included.
    pub(super) predicted: Duration,
}
