//! Which function states which rule, in the order of ids, and what it needs to have something to
//! look at. The words are in the rule book. R4xx are rules that only this program has.
//!
//! There is no rule that `total_s >= ttft_s + decode_s`: it fails on every honest report, because
//! the engine's decode time contains its first step and so does the client's time to first token.

use super::report::Report;
use super::rule::Log;
use super::wrapper::{frame, machine, rates, runs, witness};
use super::{
    declared, extensions, identity, memory, missing, model_files, plan, protocol, provenance,
    quality, shape, summaries, timing, tokens, vocabulary,
};

/// Without what a rule has nothing to look at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Needs {
    /// Any report.
    Any,
    /// A full report: its requests, artifacts, reasons and extensions.
    Full,
    /// Someone's frame round the summaries of a report.
    Wrapper,
    /// The protocol that the report names.
    Protocol,
    /// A full report and its protocol.
    FullAndProtocol,
    /// A full report and the folder it lies in.
    Directory,
    /// What the document was made of: the record of a run, the archive of a publication.
    Record,
}

/// A rule as a function.
pub(super) struct Check {
    pub(super) id: &'static str,
    pub(super) needs: Needs,
    pub(super) run: fn(&Report, &mut Log),
}

macro_rules! checks {
    ($($id:ident $needs:ident $run:path;)*) => {
        /// All rules.
        pub(super) const CHECKS: &[Check] = &[$(
            Check { id: stringify!($id), needs: Needs::$needs, run: $run }
        ),*];
    };
}

checks! {
    R001 Full shape::reference_format;
    R002 Full shape::top_level_keys;
    R003 Full shape::request_keys;
    R010 Any identity::run_id;
    R011 Any identity::started_at;
    R012 Any identity::run_id_is_start;
    R013 Any identity::duration_decimals;
    R014 Any identity::optional_duration;
    R015 Any identity::status_word;
    R016 Any declared::command_states_declarations;
    R017 Any declared::command_states_custom_pack;
    R018 Any declared::command_begins_with_program;
    R019 Any declared::command_splits_back;
    R020 Any identity::commits_agree;
    R021 Any identity::commits_are_hex;
    R022 Any identity::digests_are_hex;
    R023 Any identity::model_id_ends_in_quantization;
    R024 Any model_files::sorted;
    R025 Any model_files::option_files_are_hashed;
    R026 Any identity::gpu_memory_is_whole_mib;
    R027 Any identity::power_limit_decimals;
    R028 Protocol protocol::context_holds_the_plan;
    R029 Any protocol::sampling_in_order;
    R030 Any identity::engine_options_all_or_none;
    R031 Any declared::engine_options_known_if_started;
    R036 Any model_files::side_files_are_options;
    R037 Any model_files::shards_are_complete;
    R038 Any model_files::weights_name_quantization;
    R040 Any plan::phases_in_order;
    R041 Any plan::attempted_is_a_sum;
    R042 Any plan::planned_is_a_sum;
    R043 Protocol plan::planned_is_the_plans;
    R044 Any plan::no_concurrency_unless_selected;
    R045 Full plan::counts_are_the_requests;
    R050 Any quality::total_is_a_sum;
    R051 Any quality::passed_is_a_sum;
    R052 Protocol quality::categories_are_the_protocols;
    R053 Full quality::recounted_from_evaluations;
    R060 Protocol summaries::case_outer_metric_inner;
    R061 Any summaries::of_the_performance_stage;
    R062 Any summaries::median_between;
    R063 Any summaries::n_is_counted;
    R064 Protocol summaries::ids_partition_repetitions;
    R065 Any summaries::exclusion_has_its_reason;
    R066 Any summaries::one_value_is_all_three;
    R067 Any summaries::two_values_have_their_mean;
    R068 Any summaries::summary_decimals;
    R069 Full summaries::recomputed_from_requests;
    R070 FullAndProtocol plan::ids_are_the_plans;
    R071 FullAndProtocol plan::id_names_stage_case_repetition;
    R072 FullAndProtocol plan::seed_is_the_plans;
    R073 FullAndProtocol plan::cap_is_the_plans;
    R074 FullAndProtocol plan::concurrency_is_the_plans;
    R075 FullAndProtocol plan::repetitions_are_equally_long;
    R076 Any summaries::few_values_are_marked;
    R077 Any summaries::truncation_is_stated;
    R078 Any summaries::censoring_is_stated;
    R079 FullAndProtocol summaries::first_repetition_is_no_extreme;
    R080 Full tokens::read_is_input_less_cached;
    R081 Full tokens::output_is_decoded;
    R082 Full tokens::nothing_cached;
    R083 Full tokens::output_within_cap;
    R084 Full tokens::truncated_is_length_is_cap;
    R085 Full tokens::completed_ends_well;
    R086 FullAndProtocol tokens::tool_calls_where_asked;
    R087 Full tokens::error_only_if_failed;
    R088 Full tokens::request_fits_context;
    R090 Full timing::prompt_rate;
    R091 Full timing::decode_rate;
    R092 Full timing::engine_decimals;
    R093 Full timing::client_decimals;
    R094 Full timing::first_token_after_prompt;
    R095 Full timing::total_covers_engine_time;
    R096 Full timing::client_times_in_order;
    R097 Full timing::first_token_soon_after_prompt;
    R098 Full timing::total_soon_after_engine_time;
    R099 Full timing::decode_exceeds_client_span_by_a_step;
    R100 Full timing::no_answer_has_a_cause;
    R101 Full timing::answer_follows_reasoning;
    R102 Full timing::every_figure_has_a_source;
    R103 Full timing::client_rate_agrees;
    R104 Full timing::overhead_is_usual;
    R105 Full timing::client_clock_is_fine;
    R110 Full quality::sanity_is_judged;
    R111 FullAndProtocol quality::category_is_the_cases;
    R112 FullAndProtocol quality::reason_is_the_evaluators;
    R113 FullAndProtocol quality::tool_call_finishes_as_one;
    R114 Full quality::passed_was_completed;
    R115 Any quality::all_passed_shows_little;
    R120 Full timing::window_holds_requests;
    R121 Full timing::window_has_no_idle_time;
    R122 Full timing::window_holds_summaries;
    R130 Full missing::every_null_has_a_reason;
    R131 Full missing::reasons_in_document_order;
    R132 Full missing::reasons_are_words;
    R133 Full missing::request_reasons_are_fixed;
    R134 Full declared::reason_agrees_with_command;
    R135 Full missing::figures_of_ended_requests;
    R140 Full provenance::artifacts_of_the_format;
    R141 Full provenance::corpus_manifest_is_the_corpus;
    R142 Full provenance::template_is_an_artifact;
    R143 Full provenance::artifact_paths_and_digests;
    R144 Directory provenance::folder_is_the_artifacts;
    R150 Full extensions::checks_are_the_requests;
    R151 Full extensions::input_is_as_frozen;
    R152 Full extensions::reuse_is_cached_beyond_prefix;
    R153 Full extensions::shared_prefix_is_shorter;
    R154 FullAndProtocol extensions::length_flag_is_as_measured;
    R155 FullAndProtocol extensions::length_is_near_nominal;
    R156 Full extensions::longest_shared_prefix_twice;
    R157 Full extensions::shared_prefix_is_of_the_corpus;
    R160 Full extensions::nonconforming_has_reasons;
    R161 Full extensions::unhashed_model_is_a_reason;
    R162 Full declared::started_engine_if_no_url;
    R163 Full declared::api_key_sent_if_named;
    R164 Full extensions::server_was_fresh;
    R165 Full extensions::rounds_only_if_selected;
    R166 Full extensions::failed_check_is_a_reason;
    R167 Any provenance::no_secret_and_no_home;
    R200 Wrapper frame::foreign_format;
    R201 Wrapper shape::kept_blocks;
    R202 Wrapper missing::every_null_has_a_reason;
    R210 Wrapper machine::targets_are_the_devices;
    R211 Wrapper machine::kernel_is_the_systems;
    R212 Wrapper machine::event_says_unlocked;
    R213 Wrapper machine::used_devices_are_the_gpus;
    R220 Any memory::used_and_available_are_all;
    R221 Any memory::swap_grew_by_traffic;
    R222 Any memory::bytes_are_pages;
    R223 Any memory::peaks_are_between;
    R224 Any memory::samples_fill_the_window;
    R225 Any memory::headline_did_not_swap;
    R230 Wrapper runs::excluded_is_another_run;
    R231 Wrapper runs::excluded_is_at_hand;
    R232 Wrapper runs::selected_is_pinned;
    R233 Wrapper runs::archive_is_pinned;
    R234 Wrapper runs::excluded_came_before;
    R235 Wrapper runs::correction_is_whole;
    R240 Wrapper rates::prompt_rates_invert;
    R241 Wrapper rates::decode_rates_invert;
    R242 Wrapper rates::capped_rates_are_the_truncated;
    R243 Wrapper witness::a_witness_exists;
    R244 Wrapper timing::window_holds_summaries;
    R300 Any protocol::protocol_is_known;
    R301 Protocol protocol::sampling_is_the_protocols;
    R302 Protocol protocol::template_is_the_protocols;
    R303 Full vocabulary::sources_are_known;
    R304 Any vocabulary::build_and_track_are_known;
    R305 Any vocabulary::memory_kind_is_known;
    R400 Any shape::readable;
    R401 Any shape::no_key_twice;
    R402 Any shape::fields_and_types;
    R410 Full extensions::times_are_offsets_apart;
    R411 Full extensions::window_is_from_offsets;
    R412 Full extensions::bodies_have_digests;
    R413 FullAndProtocol extensions::shared_prefix_is_the_protocols;
    R414 Any identity::memory_is_whole_pages;
    R420 Directory provenance::manifest_covers_the_folder;
    R421 Record provenance::rebuild_makes_the_same;
    R430 Full declared::other_options_known_if_any_are;
    R431 Any protocol::protocol_is_pinned;
    R432 Full extensions::requests_have_offsets;
    R433 Any summaries::repetitions_differ;
    R434 Wrapper memory::devices_are_keyed_by_index;
    R435 Full declared::options_are_what_they_set;
    R436 Full timing::repetitions_wait_alike;
    R437 Full extensions::bodies_are_the_corpus;
    R438 Full extensions::shared_prefix_is_as_recorded;
}
