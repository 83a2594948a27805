//! Rules about a wrapper: someone's frame round the summaries of a report that is not at hand. What
//! it keeps of the report is judged by the rules of the report; here is what it adds, and what its
//! printed figures still tell about the requests it left out.

pub(super) mod frame;
pub(super) mod machine;
pub(super) mod rates;
pub(super) mod runs;
pub(super) mod witness;
