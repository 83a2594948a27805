//! The rules, in the order of their ids: words alone, the functions lie by subject. Numbers not
//! here belong to rules about wrappers, or are free; R4xx are rules that only this program has.
//!
//! There is no rule that `total_s >= ttft_s + decode_s`: it fails on every honest report, because
//! the engine's decode time contains its first step and so does the client's time to first token.

use super::rule::{Kind, Needs, Rule, Severity};
use super::{
    declared, extensions, identity, missing, plan, protocol, provenance, quality, shape, summaries,
    timing, tokens,
};

macro_rules! rules {
    ($($id:ident $kind:ident $severity:ident $needs:ident $check:path, $statement:literal;)*) => {
        /// All rules.
        pub const RULES: &[Rule] = &[$(Rule {
            id: stringify!($id),
            kind: Kind::$kind,
            severity: Severity::$severity,
            statement: $statement,
            needs: Needs::$needs,
            check: $check,
        }),*];
    };
}

rules! {
    R001 Schema Error Full shape::reference_format,
        "a full report names the reference format and its schema version";
    R002 Schema Error Full shape::top_level_keys,
        "the document has exactly the sixteen blocks; another order is a warning";
    R003 Schema Error Full shape::request_keys,
        "a request has exactly the eighteen fields in order";
    R010 Schema Error Any identity::run_id,
        "the id of a run is its start and eight hexadecimal digits";
    R011 Schema Error Any identity::started_at,
        "the start of a run is a real instant in UTC, to the second";
    R012 Accounting Error Any identity::run_id_is_start,
        "the id of a run begins with its start";
    R013 Schema Error Any identity::duration_decimals,
        "the required duration has at most 3 decimals";
    R014 Accounting Error Any identity::optional_duration,
        "the optional duration is null exactly when the concurrency stage was not selected";
    R015 Schema Error Any identity::status_word,
        "the status is complete or nonconforming";
    R016 Provenance Warning Any declared::command_states_declarations,
        "the command states track, track notes and quantization, raw or quoted for a shell";
    R017 Provenance Warning Any declared::command_states_custom_pack,
        "a custom pack stands in the command";
    R018 Provenance Warning Any declared::command_begins_with_program,
        "the command begins with a program, not with a blank";
    R019 Provenance Warning Any declared::command_splits_back,
        "the command splits back into the arguments that were given";
    R020 Provenance Warning Any identity::commits_agree,
        "protocol, engine and runner come from one commit, where each is known";
    R021 Schema Error Any identity::commits_are_hex,
        "a commit is 40 lower-case hexadecimal digits";
    R022 Schema Error Any identity::digests_are_hex,
        "a digest is 64 lower-case hexadecimal digits";
    R023 Accounting Warning Any identity::model_id_ends_in_quantization,
        "the id of a model ends in its quantization";
    R024 Schema Error Any identity::model_files_sorted,
        "model files are base names, each once, in byte order";
    R025 Provenance Error Any identity::option_files_are_hashed,
        "a file that an engine option names is among the hashed files";
    R026 Accounting Warning Any identity::gpu_memory_is_whole_mib,
        "the memory of a GPU is a whole number of MiB";
    R027 Schema Error Any identity::power_limit_decimals,
        "a power limit has at most 1 decimal";
    R028 Accounting Error Protocol protocol::context_holds_the_plan,
        "the context holds the longest planned input and its cap";
    R029 Schema Error Any protocol::sampling_in_order,
        "sampling has exactly the seven parameters in order";
    R030 Schema Error Any identity::engine_options_all_or_none,
        "the seven groups of engine options are all known or all null";
    R031 Provenance Error Any declared::engine_options_known_if_started,
        "engine options are null exactly when the server was reached by --url without --config";
    R040 Schema Error Any plan::phases_in_order,
        "the request counts have the four stages in order";
    R041 Accounting Error Any plan::attempted_is_a_sum,
        "attempted = completed + truncated + failed";
    R042 Accounting Error Any plan::planned_is_a_sum,
        "planned = attempted + skipped";
    R043 Accounting Error Protocol plan::planned_is_the_plans,
        "as many requests are planned as the protocol asks for";
    R044 Accounting Error Any plan::no_concurrency_unless_selected,
        "no concurrent request is planned unless the stage was selected";
    R045 Accounting Error Full plan::counts_are_the_requests,
        "the counts are what the requests show, by stage and status";
    R050 Accounting Error Any quality::total_is_a_sum,
        "the judged requests are the sum over categories, and as many as planned";
    R051 Accounting Error Any quality::passed_is_a_sum,
        "the passed requests are the sum over categories";
    R052 Schema Error Protocol quality::categories_are_the_protocols,
        "the categories and their sizes are the protocol's";
    R053 Accounting Error Full quality::recounted_from_evaluations,
        "a category counts the requests whose evaluation says so";
    R060 Schema Error Protocol summaries::case_outer_metric_inner,
        "there is one summary per case and metric, case outer, metric inner, with its unit";
    R061 Schema Error Any summaries::of_the_performance_stage,
        "summaries are of the performance stage and its concurrency";
    R062 Statistics Error Any summaries::median_between,
        "min <= median <= max";
    R063 Accounting Error Any summaries::n_is_counted,
        "n counts the included requests, and with the excluded all repetitions";
    R064 Schema Error Protocol summaries::ids_partition_repetitions,
        "included and excluded requests are all repetitions, each once, in order";
    R065 Schema Error Any summaries::exclusion_has_its_reason,
        "a request is excluded because the metric is not available for it";
    R066 Statistics Error Any summaries::one_value_is_all_three,
        "of one value, min = median = max";
    R067 Statistics Error Any summaries::two_values_have_their_mean,
        "of two values, the median is their mean to half a unit of the sixth decimal";
    R068 Schema Error Any summaries::summary_decimals,
        "summaries have at most 6 decimals";
    R069 Statistics Error Full summaries::recomputed_from_requests,
        "a summary is what its requests give";
    R070 Schema Error FullAndProtocol plan::ids_are_the_plans,
        "the requests are the plan's, in its order";
    R071 Schema Error FullAndProtocol plan::id_names_stage_case_repetition,
        "the id of a request names its stage, case and repetition";
    R072 Accounting Error FullAndProtocol plan::seed_is_the_plans,
        "a request has the seed of the plan";
    R073 Accounting Error FullAndProtocol plan::cap_is_the_plans,
        "a request has the cap of its stage";
    R074 Schema Error FullAndProtocol plan::concurrency_is_the_plans,
        "concurrency and round are the plan's, and the round is null outside the concurrency stage";
    R075 Accounting Error FullAndProtocol plan::repetitions_are_equally_long,
        "repetitions whose length the protocol pins alike have the same input tokens";
    R076 Statistics Warning Any summaries::few_values_are_marked,
        "a median of fewer than 3 values is marked as such";
    R077 Statistics Warning Any summaries::truncation_is_stated,
        "a summary of durations or decode rates states how many of its requests were cut off";
    R078 Statistics Warning Any summaries::censoring_is_stated,
        "a summary of first answers states how many requests never answered";
    R079 Statistics Warning FullAndProtocol summaries::first_repetition_is_no_extreme,
        "the first repetition is not the extreme of every case: the warm-up was long enough";
    R080 Accounting Error Full tokens::read_is_input_less_cached,
        "read tokens are the input tokens that were not cached, or a note says why not";
    R081 Accounting Error Full tokens::output_is_decoded,
        "output tokens are the decoded tokens, or a note says why not";
    R082 Accounting Warning Full tokens::nothing_cached,
        "no token of a frozen payload was cached";
    R083 Accounting Error Full tokens::output_within_cap,
        "a request that ended gave at least one token and at most its cap";
    R084 Accounting Error Full tokens::truncated_is_length_is_cap,
        "truncated means finished by length; that it means output at the cap is a warning";
    R085 Accounting Error Full tokens::completed_ends_well,
        "a completed request finished with stop or tool_calls";
    R086 Accounting Warning FullAndProtocol tokens::tool_calls_where_asked,
        "a request finished with tool_calls exactly where its case asks for one";
    R087 Accounting Error Full tokens::error_only_if_failed,
        "only a failed request has an error";
    R088 Accounting Error Full tokens::request_fits_context,
        "input and cap fit the context";
    R090 Accounting Error Full timing::prompt_rate,
        "prompt_tps is read_tokens over the printed prompt_s, rounded to 6 decimals";
    R091 Accounting Error Full timing::decode_rate,
        "decode_tps is decode_tokens over the printed decode_s, rounded to 6 decimals";
    R092 Schema Error Full timing::engine_decimals,
        "engine times have at most 4 decimals";
    R093 Schema Error Full timing::client_decimals,
        "client times have at most 6 decimals";
    R094 Timing Error Full timing::first_token_after_prompt,
        "the first token comes after the prompt was read";
    R095 Timing Error Full timing::total_covers_engine_time,
        "a request takes at least its prompt and decode time";
    R096 Timing Error Full timing::client_times_in_order,
        "ttft_s <= first_answer_s <= total_s";
    R097 Timing Warning Full timing::first_token_soon_after_prompt,
        "on one machine the first token comes within 0.1 s after the prompt was read";
    R098 Timing Warning Full timing::total_soon_after_engine_time,
        "a request takes at most 0.1 s more than its prompt and decode time";
    R099 Timing Warning Full timing::decode_exceeds_client_span_by_a_step,
        "decode time exceeds the client's span by its first step: 0 to 0.05 s";
    R100 Timing Error Full timing::no_answer_has_a_cause,
        "a request without an answer sent nothing or reasoned; a stop of its own is a warning";
    R101 Timing Error Full timing::answer_follows_reasoning,
        "where reasoning came first, the answer came later";
    R102 Schema Error Full timing::every_figure_has_a_source,
        "every figure of a request has a source in words";
    R103 Timing Warning Full timing::client_rate_agrees,
        "the client's decode rate agrees with the engine's within 2 %";
    R104 Timing Info Full timing::overhead_is_usual,
        "what engine times do not explain is usual for the lengths, to 15 ms";
    R105 Timing Info Full timing::client_clock_is_fine,
        "the client's events do not fall on a tick of a millisecond";
    R110 Schema Error Full quality::sanity_is_judged,
        "exactly the sanity requests are judged";
    R111 Accounting Error FullAndProtocol quality::category_is_the_cases,
        "a request is judged in the category of its case";
    R112 Schema Error FullAndProtocol quality::reason_is_the_evaluators,
        "a passed request has the reason of its evaluator";
    R113 Accounting Error FullAndProtocol quality::tool_call_finishes_as_one,
        "a request passed as a tool call exactly when it finished as one";
    R114 Accounting Error Full quality::passed_was_completed,
        "only a completed request passed";
    R115 Statistics Info Any quality::all_passed_shows_little,
        "when all pass, that shows no more than a lower bound of the pass rate";
    R120 Timing Error Full timing::window_holds_requests,
        "the required duration is at least the sum of its requests";
    R121 Timing Warning Full timing::window_has_no_idle_time,
        "the required duration exceeds the sum of its requests by at most 10 ms each";
    R122 Timing Error Any timing::window_holds_summaries,
        "the required duration is at least the performance requests'";
    R130 Schema Error Full missing::every_null_has_a_reason,
        "every null has a reason in missing, and every reason a null";
    R131 Schema Warning Full missing::reasons_in_document_order,
        "reasons stand in the order of the document";
    R132 Schema Error Full missing::reasons_are_words,
        "a reason is a text that is not empty";
    R133 Schema Error Full missing::request_reasons_are_fixed,
        "what is null in a request that ended has the format's reason";
    R134 Provenance Warning Full declared::reason_agrees_with_command,
        "when --skip-model-hash was given, the reason of the null says so";
    R135 Schema Error Full missing::figures_of_ended_requests,
        "a request that ended has its times, and its rates wherever they can be computed";
    R140 Schema Error Full provenance::artifacts_of_the_format,
        "the artifacts are outputs, config, template, corpus manifest, corpus build, then others";
    R141 Provenance Error Full provenance::corpus_manifest_is_the_corpus,
        "the digest of the corpus manifest is the protocol's corpus";
    R142 Provenance Error Full provenance::template_is_an_artifact,
        "the template is an artifact with the digest that the configuration states";
    R143 Schema Error Full provenance::artifact_paths_and_digests,
        "artifacts have relative paths and SHA-256 digests";
    R144 Provenance Error Directory provenance::folder_is_the_artifacts,
        "the folder holds every artifact with its digest, and no file that is not listed";
    R150 Schema Error Full extensions::checks_are_the_requests,
        "there is a check for every request, in order";
    R151 Accounting Error Full extensions::input_is_as_frozen,
        "a payload has the frozen number of tokens, or is said to be outside the tolerance";
    R152 Accounting Error Full extensions::reuse_is_cached_beyond_prefix,
        "a payload was reused exactly when more was cached than payloads share";
    R153 Accounting Error Full extensions::shared_prefix_is_shorter,
        "a shared prefix is shorter than its payload";
    R154 Status Error FullAndProtocol extensions::length_flag_is_as_measured,
        "a payload is flagged when it is outside the length tolerance; a complete run has none";
    R155 Accounting Warning FullAndProtocol extensions::length_is_near_nominal,
        "a payload is as long as its case says, within the protocol's tolerance";
    R156 Accounting Warning Full extensions::longest_shared_prefix_twice,
        "the longest shared prefix belongs to at least two payloads";
    R157 Accounting Info Full extensions::shared_prefix_is_of_the_corpus,
        "the first payload shares a prefix: the whole corpus is compared";
    R160 Status Error Full extensions::nonconforming_has_reasons,
        "a run is nonconforming exactly when it has status reasons";
    R161 Status Error Full extensions::unhashed_model_is_a_reason,
        "that no model file was hashed is a status reason exactly when there is no digest";
    R162 Provenance Error Full declared::started_engine_if_no_url,
        "the engine was started exactly when the command has no --url";
    R163 Provenance Warning Full declared::api_key_sent_if_named,
        "an API key was sent exactly when the command has --credential-env";
    R164 Status Warning Full extensions::server_was_fresh,
        "the server had served no request before the run";
    R165 Schema Error Full extensions::rounds_only_if_selected,
        "there are concurrency rounds exactly when the stage was selected";
    R166 Status Error Full extensions::failed_check_is_a_reason,
        "a payload check that fails is a status reason";
    R167 Provenance Error Any provenance::no_secret_and_no_home,
        "no home folder and nothing like a key stands anywhere";
    R300 Provenance Error Any protocol::protocol_is_known,
        "the protocol is known, and profile and corpus are its own";
    R301 Provenance Error Protocol protocol::sampling_is_the_protocols,
        "sampling and template arguments are the protocol's";
    R302 Provenance Error Protocol protocol::template_is_the_protocols,
        "the template is the one the protocol pins";
    R401 Schema Error Any shape::no_key_twice,
        "no object repeats a key";
    R402 Schema Error Any shape::fields_and_types,
        "every block has its fields with their types, and no others";
    R410 Accounting Error Full extensions::times_are_offsets_apart,
        "client times are the differences of the client's offsets";
    R411 Accounting Error Full extensions::window_is_from_offsets,
        "the required duration runs from the first dispatch to the last end of the offsets";
    R412 Schema Error Full extensions::bodies_have_digests,
        "the body of every request that ended has a SHA-256 digest";
    R413 Accounting Error FullAndProtocol extensions::shared_prefix_is_the_protocols,
        "a shared prefix is as long as the protocol says, where it pins a tokenizer";
    R414 Accounting Warning Any identity::memory_is_whole_pages,
        "the memory of the machine is a whole number of pages of 4096 bytes";
    R420 Provenance Error Directory provenance::manifest_covers_the_folder,
        "MANIFEST.sha256 names every file of the folder with its digest";
    R421 Provenance Error Directory provenance::rebuild_makes_the_same,
        "the record in the folder makes this report, byte for byte";
}

/// The rule that a report is JSON at all. It stands apart: when it fails, no other can be asked.
pub(super) const READABLE: &Rule = &Rule {
    id: "R400",
    kind: Kind::Schema,
    severity: Severity::Error,
    statement: "the report is one JSON document of at most 32 MiB, 64 levels and 2^20 values",
    needs: Needs::Any,
    check: |_, log| log.judge(true, || unreachable!("it was read")),
};
