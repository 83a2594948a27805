//! Text to tokens and back, chat templates, sampling. Leaves: they know no model and no session.

pub mod chat;
mod philox;
pub mod sampler;
pub mod stop;
pub mod tokenizer;

pub use chat::{ChatRequest, ChatTemplate};
pub use sampler::{Sampler, SamplerOptions};
pub use stop::StopStrings;
pub use tokenizer::{Detokenizer, Special, Tokenizer};
