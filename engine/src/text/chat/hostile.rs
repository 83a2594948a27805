//! Templates written to exhaust the stack, each on a thread with as little of it as Rust gives one:
//! all end, and what may not pass is refused in words.

use super::bounds::{MAX_BLOCKS, MAX_BRACKETS, MAX_BYTES, MAX_ELIFS, MAX_LEVELS, MAX_TOKENS};
use super::tests::{template, user};
use super::*;
use crate::text::tokenizer::testing::SMALL;
use proptest::prelude::*;
use serde_json::json;

/// Renders on 2 MiB of stack. An overflow ends the whole test program.
fn render(source: String, request: ChatRequest) -> Result<String, String> {
    let rendering = move || {
        let rendered = template(&source).render(&request, &SMALL);
        rendered.map_err(|error| error.to_string())
    };
    let thread = std::thread::Builder::new().stack_size(2 << 20).spawn(rendering);
    thread.expect("a thread").join().expect("no panic")
}

fn check(source: &str, expected: Result<&str, &str>) {
    let rendered = render(source.to_owned(), user("x"));
    let shown: String = source.chars().take(200).collect();
    match (&rendered, expected) {
        (Ok(text), Ok(expected)) => assert_eq!(text, expected, "{shown}"),
        (Err(error), Err(expected)) => assert!(error.contains(expected), "{shown}: {error}"),
        _ => panic!("{shown}: {rendered:?} instead of {expected:?}"),
    }
}

#[test]
fn long_tags_are_refused() {
    for [start, repeated, end] in [
        ["{{ ", "-", "1 }}"],
        ["{{ ", "not ", "1 }}"],
        ["{{ 1 ", "+ 1", " }}"],
        ["{{ 1 ", "if 1 else 1 ", " }}"],
        ["{{ x", ".x", " }}"],
        ["{{ x", "[0:]", " }}"],
        ["{{ x", "()", " }}"],
        ["{{ x", "|list", " }}"],
        ["{{ x", " is x", " }}"],
        ["{% set ", "(", " = 1 %}"],
        ["{% for ", "(", " in 1 %}"],
        ["{% if ", "not ", "1 %}{% endif %}"],
        ["{% set x | ", "list|", "list %}{% endset %}"],
        ["{% filter ", "list|", "list %}{% endfilter %}"],
        // The tag does not end, or what is in it cannot be read.
        ["{{ ", "-", "1"],
        ["{% set x = ", "-", "1 '"],
    ] {
        let source = |count| format!("{start}{}{end}", repeated.repeat(count));
        check(&source(5300), Err("tokens in a tag, but at most 400 are taken: split it"));
        // Most of these mean nothing; the parser says so without going too deep.
        for count in [MAX_BRACKETS, MAX_TOKENS / 4 - 5, MAX_TOKENS / 2 - 5, MAX_TOKENS - 5] {
            let _ = render(source(count), user("x"));
        }
    }
    check(&format!("{{{{ {}1 }}}}", "-".repeat(MAX_TOKENS - 2)), Ok("1"));
    check(
        &format!("\n{{{{ {}1 }}}}", "-".repeat(MAX_TOKENS - 1)),
        Err("tokenizer.chat_template: line 2: 401 tokens in a tag, but at most 400 are taken"),
    );
    let brackets = |count| format!("{{{{ {}1{} }}}}", "(".repeat(count), ")".repeat(count));
    check(&brackets(MAX_BRACKETS), Ok("1"));
    check(&brackets(MAX_BRACKETS + 1), Err("line 1: 21 brackets inside each other, but at most"));
    check(&" ".repeat(MAX_BYTES + 1), Err("262145 bytes, but at most 262144 are taken"));
}

#[test]
fn blocks_inside_each_other_are_counted() {
    let elifs = "{% elif 0 %}".repeat(MAX_ELIFS);
    check(&format!("{{% if 0 %}}{elifs}{{% else %}}x{{% endif %}}"), Ok("x"));
    let more = "line 1: 101 elif around one place, but at most 100 are taken: use several if";
    check(&format!("{{% if 0 %}}{elifs}{{% elif 0 %}}{{% endif %}}"), Err(more));
    check(&format!("{{% if 0 %}}{elifs}{{% if 1 %}}{{% elif 1 %}}{{% endif %}}"), Err(more));
    check(&format!("{{% if 0 %}}{elifs}{{% endif %}}").repeat(3), Ok(""));
    let blocks = |count| "{% if 1 %}".repeat(count) + &"{% endif %}".repeat(count);
    check(&blocks(MAX_BLOCKS), Ok(""));
    check(&blocks(MAX_BLOCKS + 1), Err("line 1: 33 blocks inside each other, but at most 32"));
    // All limits reached at once, in the parser and in the compiler.
    for [open, close] in [
        ["{% if 0 %}{% else %}", "{% endif %}"],
        ["{% for a in 'a' %}", "{% endfor %}"],
        ["{% with a = 1 %}", "{% endwith %}"],
        ["{% set a %}", "{% endset %}"],
        ["{% filter upper %}", "{% endfilter %}"],
        ["{% autoescape 0 %}", "{% endautoescape %}"],
        ["{% macro a() %}", "{% endmacro %}"],
        ["{% call a() %}", "{% endcall %}"],
    ] {
        let [open, close] = [open.repeat(MAX_BLOCKS - 1), close.repeat(MAX_BLOCKS - 1)];
        let call = ["range(".repeat(MAX_BRACKETS), ")".repeat(MAX_BRACKETS)];
        for operators in ["-".repeat(330), "not ".repeat(330), "1 if 1 else ".repeat(80)] {
            let tag = format!("{}{operators}1{}", call[0], call[1]);
            let source = format!("{open}{{% if 0 %}}{elifs}{{{{ {tag} }}}}{{% endif %}}{close}");
            if let Err(error) = render(source, user("x")) {
                assert!(!error.contains("tokenizer.chat_template"), "{error}");
            }
        }
    }
}

/// Ways to put the value `V` into another one.
const NESTING: [&str; 24] = [
    "[V]",
    "[[[[[[[[[[[[[[[V]]]]]]]]]]]]]]]",
    "{'a': V}",
    "{V: 1}",
    "(V,)",
    "dict(a=V)",
    "dict({'a': V})",
    "namespace(a=V)",
    "namespace({'a': V})",
    "(V or [1])[0:]",
    "(V or [1])[::-1]",
    "(V or [1]) * 1",
    "(V or [1]) + [1]",
    "[1] + (V or [1])",
    "([1] + (V or [1]))[1:]",
    "(V or {'a': 1})|chain({'b': 1})",
    "(V or [1])|chain([1])",
    "(V or [1])|batch(3, V)",
    "(V or [1])|zip(V or [1])",
    "(V or {'a': 1})|items",
    "(V or {'a': 1}).values()",
    "[V]|map('default', [V])",
    "''|default([V], true)",
    "(V or [1])|reverse",
];

/// What reads a value to its depth; nothing at all leaves it to be dropped.
const USES: [&str; 13] = [
    "",
    "{{ V }}",
    "{{ V ~ V }}",
    "{{ V == V }}{{ [V] < [V] }}",
    "{{ V in [V] }}",
    "{{ V|tojson }}",
    "{{ [V]|join }}",
    "{{ V|list }}",
    "{{ [V, V]|unique|list }}{{ [V, V]|sort }}",
    "{{ {V: V} }}",
    "{{ V[0:][0:]|string }}",
    "{{ V|pprint }}{{ V|length }}",
    "{{ '%s %r'|format(V, V) }}",
];

#[test]
fn values_do_not_nest_without_end() {
    let bodies = |nested: &str| {
        [
            format!("{{% set n.v = {nested} %}}"),
            format!("{{% set m = {nested} %}}{{% set n.v = m %}}"),
            format!("{{% set n.w, n.v = 1, {nested} %}}"),
            format!("{{% set n.v | replace('', '') | default({nested}, true) %}}{{% endset %}}"),
            format!("{{% for m in [{nested}] %}}{{% set n.v = m %}}{{% endfor %}}"),
            format!("{{% with m = {nested} %}}{{% set n.v = m %}}{{% endwith %}}"),
            format!("{{% set n.v = namespace(v={nested}).v %}}"),
        ]
    };
    let nested = NESTING.map(|nesting| nesting.replace('V', "n.v"));
    for body in nested.iter().map(|nested| bodies(nested)[0].clone()).chain(bodies(&nested[1])) {
        // Dropped in the end, with and without being printed.
        for used in ["", "{{ n.v }}"] {
            let source = format!(
                "{{% set n = namespace(v=none) %}}{{% for i in range(1000) %}}{body}{{% endfor %}}\
                 {used}"
            );
            let _ = render(source, user("x"));
        }
    }
    let levels = format!("a value nested deeper than {MAX_LEVELS}");
    let looped = |body: &str| {
        format!("{{% set n = namespace() %}}{{% for i in range(300) %}}{body}{{% endfor %}}ok")
    };
    check(&looped("{% set n.v = [n.v] %}"), Err(&levels));
    check(&looped("{% set n.v = {'a': n.v} %}"), Err(&levels));
    check(&looped("{% set n.v = (n.v or [])[0:] + [i] %}"), Ok("ok"));
}

#[test]
fn what_templates_change_does_not_hold_another() {
    let own = "a namespace, macro or loop inside another value";
    for source in [
        "{% set a = namespace() %}{% set b = namespace() %}{% set a.b = b %}\
         {% set b.a = a %}{{ a }}",
        "{% set a = namespace() %}{% set a.a = a %}{{ a == a }}",
        "{% set a = namespace() %}{% set b = namespace(a=a) %}{{ b }}",
        "{% set a = namespace() %}{% set b = namespace({'a': a}) %}{{ b }}",
        "{% set a = namespace() %}{% set b = [a] %}{% set a.b = b %}{{ b }}",
        "{% set a = namespace() %}{% set a.b | default(a, true) %}{% endset %}{{ a }}",
        "{% set a = namespace() %}{% for i in [1] %}{% set a.b = loop %}{% endfor %}{{ a }}",
        "{% for i in [1] %}{% for j in [loop] %}{% endfor %}{% endfor %}",
        "{% macro m() %}{% endmacro %}{% set a = [m] %}",
    ] {
        check(source, Err(own));
    }
    check("{% for i in [1] %}{% set l = loop %}{{ l.index }}{% endfor %}", Ok("1"));
    check(
        "{% macro m(f) %}{{ f() }}{% endmacro %}{% macro f() %}f{% endmacro %}{{ m(f) }}",
        Ok("f"),
    );
    check("{% for i in [1] %}{{ loop.cycle() }}{% endfor %}", Err("there is no loop.cycle"));
    check(
        "{% for i in [1] %}{{ loop.changed(loop) }}{% endfor %}",
        Err("there is no loop.changed"),
    );
    check(
        "{% for i in [[1]] recursive %}{{ loop(i) }}{% endfor %}",
        Err("no loop may be recursive"),
    );
    let call = "{% macro m(a, b='b') -%} <{{ caller(a) }}{{ b }}> {%- endmacro %}\
                {% call(c) m('a') %}[{{ c }}]{% endcall %}{{ m('a', caller='c'.nothing()) }}";
    check(call, Err("string has no method"));
    check(call.split("{{ m(").next().expect("a part"), Ok("<[a]b>"));
    let bound = "{% set a, (b, c) = 1, (2, 'x=%}') %}{% set n=namespace() -%}\n{% set n.a=-1-%} \
                 {{ a }}{{ b }}{{ c }}{{ n.a }}{% with d=1, e={'f': 2}['f'] %}{{ d }}{{ e }}\
                 {% endwith %}{% for k, v in {'a': 1}|items if v in [1] %}{{ k }}\
                  {{ v }}{% endfor %}";
    check(bound, Ok("12x=%}-112a1"));
    check("{{ debug() }}", Err("debug is unknown"));
    check("{{ [{'a': 1}]|groupby('a') }}", Err("filter groupby is unknown"));
    check("{% include 'chat template' %}", Err("unknown statement include"));
}

#[test]
fn macros_that_call_themselves_do_not_nest_without_end() {
    let deep = format!("{}v{}", "[".repeat(15), "]".repeat(15));
    for source in [
        format!("{{% macro f(v) %}}{{{{ f({deep}) }}}}{{% endmacro %}}{{{{ f(1) }}}}"),
        format!("{{% macro f(v={deep}) %}}{{{{ f(v={deep}) }}}}{{% endmacro %}}{{{{ f() }}}}"),
        format!("{{% macro f(u, v=1) -%}} {{{{ f(*[1, {deep}]) }}}}{{% endmacro %}}{{{{ f(1) }}}}"),
        format!("{{% macro f(v) %}}{{{{ f(**{{'v': {deep}}}) }}}}{{% endmacro %}}{{{{ f(1) }}}}"),
        format!(
            "{{% macro f(v) %}}{{{{ caller }}}}{{% call(v) f({deep}) %}}\
             {{% endcall %}}{{% endmacro %}}{{{{ f(1) }}}}"
        ),
        format!(
            "{{% macro f(v) %}}{{{{ caller({deep}) }}}}{{% endmacro %}}\
                 {{% call(v) f(1) %}}{{{{ f(v, caller=f) }}}}{{% endcall %}}"
        ),
        format!(
            "{{% macro f() %}}{{% set v = caller %}}{{{{ f(caller={deep}) }}}}{{% endmacro %}}\
                 {{{{ f(caller=1) }}}}"
        ),
        format!(
            "{{% macro f(v) %}}{{% for a in {deep} %}}{{{{ f(a) }}}}{{% endfor %}}{{% endmacro %}}\
                 {{{{ f(1) }}}}"
        ),
        format!("{{% macro f(g, v) %}}{{{{ g(f, {deep}) }}}}{{% endmacro %}}{{{{ f(f, 1) }}}}"),
    ] {
        for used in ["", "{{ v }}", "{{ v == v }}", "{{ v|tojson }}"] {
            // Used before and after the call: at the bottom of all calls, too.
            let source = source.replacen("%}", &format!("%}}{used}"), 1);
            let error = render(source.clone(), user("x")).expect_err(&source);
            let known = [
                "nested deeper",
                "recursion limit",
                "fuel",
                "not callable",
                "is unknown",
                "not JSON",
            ];
            assert!(known.iter().any(|known| error.contains(known)), "{source}: {error}");
        }
    }
}

/// The deepest that all limits together let a value be, in each way to use it.
#[test]
fn the_deepest_value_fits_the_stack() {
    let levels = format!(
        "{{% set n = namespace() %}}{{% for i in range({}) %}}\
         {{% set n.v = [n.v] %}}{{% endfor %}}",
        MAX_LEVELS - 1
    );
    for [open, close, count] in [
        ["[", "]", "15"],
        ["{'a':", "}", "15"],
        ["", "[0:]", "90"],
        ["", "[::-1]", "70"],
        ["", "*1", "180"],
        ["", "+[1]", "90"],
        ["", "|batch(1)", "70"],
        ["", "|zip([1])", "50"],
        ["", "|chain([1])[0:]", "30"],
        ["", "|items", "180"],
    ] {
        let count = count.parse().expect("a number");
        let nested = format!("{}(n.v){}", open.repeat(count), close.repeat(count));
        for used in [
            "{{ V }}",
            "{{ V ~ '' }}",
            "{{ V|string }}",
            "{{ V == n.v }}",
            "{{ V < n.v }}",
            "{{ V|tojson }}",
            "{{ V|join }}",
            "{{ {V: 1}|length }}",
            "{{ [V]|pprint }}",
            "{% for i in V %}{% endfor %}",
        ] {
            let _ = render(format!("{levels}{}", used.replace('V', &nested)), user("x"));
            // The same where calls have used up most of the stack.
            let bottom = used.replace('V', &nested);
            let calls = "{% macro f(i) %}{% if i %}{{ f(i - 1) }}{% else %}";
            for depth in [60, 80, 100, 120] {
                let _ = render(
                    format!(
                        "{levels}{calls}{bottom}{{% endif %}}{{% endmacro %}}{{{{ f({depth}) }}}}"
                    ),
                    user("x"),
                );
            }
        }
    }
}

#[test]
fn the_deepest_request_is_shown() {
    let nested = |levels| (1..levels).fold(json!(["x"]), |value, _| json!([value]));
    let mut request = user("x");
    request.kwargs.insert("k".to_owned(), nested(128));
    let arguments = json!({"a": nested(126)}).to_string();
    request.messages.push(json!({
        "role": "assistant", "tool_calls": [{"function": {"arguments": arguments}}],
    }));
    let source = "{% for m in messages %}{{ m.tool_calls }}{% endfor %}{% set v = k %}{{ v }}";
    let text = render(source.to_owned(), request).expect("it fits");
    assert_eq!(text.matches('[').count(), 126 + 1 + 128);
}

#[test]
fn a_long_conversation_fits() {
    let file = concat!(env!("CARGO_MANIFEST_DIR"), "/../golden/templates/t1.jinja");
    let golden = std::fs::read_to_string(file).expect("a file");
    let collected = "{% set n = namespace(m=[]) %}{% for m in messages %}{% set n.m = n.m + [m] %}\
                     {% endfor %}{{ n.m|length }}";
    let message = |role: &str| json!({"role": role, "content": "Once upon a time"});
    for source in [&golden, collected] {
        let mut request = user("x");
        request.messages = (0..256).flat_map(|_| ["user", "assistant"]).map(message).collect();
        render(source.to_owned(), request).expect("it fits");
    }
}

/// Statements over a few names, in which loops and macros carry values on.
fn statements() -> impl Strategy<Value = String> {
    let name = || {
        prop::sample::select(vec![
            "v", "v", "v", "w", "w", "n.v", "n.v", "n.v", "n.w", "o.v", "o.v", "n", "loop",
            "caller",
        ])
    };
    let value = (name(), name(), prop::sample::select(NESTING.to_vec()))
        .prop_map(|(a, b, nesting)| nesting.replacen('V', a, 1).replacen('V', b, 1));
    let target = prop::sample::select(vec!["v", "v", "w", "n.v", "n.v", "n.w", "o.v", "n"]);
    let leaf = prop_oneof![
        4 => (target.clone(), value.clone())
            .prop_map(|(target, value)| format!("{{% set {target} = {value} %}}")),
        1 => (target, value.clone())
            .prop_map(|(target, value)| {
                format!("{{% set {target} | default({value}, true) %}}{{% endset %}}")
            }),
        1 => (value.clone(), value.clone())
            .prop_map(|(v, w)| format!("{{{{ f({v}, w={w}) }}}}")),
        2 => (name(), prop::sample::select(USES.to_vec()))
            .prop_map(|(name, used)| used.replace('V', name)),
    ];
    leaf.prop_recursive(3, 12, 4, move |inner| {
        let body = prop::collection::vec(inner, 1..4).prop_map(|parts| parts.concat());
        prop_oneof![
            body.clone()
                .prop_map(|body| format!("{{% for i in range(400) %}}{body}{{% endfor %}}")),
            (value.clone(), body.clone())
                .prop_map(|(value, body)| format!("{{% for v in {value} %}}{body}{{% endfor %}}")),
            (value.clone(), value.clone(), body.clone()).prop_map(|(v, w, body)| format!(
                "{{% with v = {v}, w = {w} %}}{body}{{% endwith %}}"
            )),
            (value.clone(), body.clone())
                .prop_map(|(v, body)| format!("{{% call(v) f({v}, 1) %}}{body}{{% endcall %}}")),
            body.prop_map(|body| format!("{{% macro f(v, w) %}}{body}{{% endmacro %}}")),
        ]
    })
}

proptest! {
    /// They render or fail; what matters is that they come back.
    #[test]
    fn small_templates_that_nest_come_back(parts in prop::collection::vec(statements(), 1..4)) {
        let source = format!(
            "{{% set n = namespace() %}}{{% set o = namespace() %}}{{% macro f(v, w) %}}\
             {{% set n.v = [v] %}}{{{{ caller }}}}{{% endmacro %}}{}{{{{ v }}}}{{{{ n }}}}",
            parts.concat()
        );
        let _ = render(source, user("x"));
    }
}

#[test]
fn sizes_a_template_chooses_are_paid_for() {
    check("{{ '{:>9999}'.format(1)|length }}{{ '{} 20261130'.format(1) }}", Ok("99991 20261130"));
    check("{{ '{:>10000}'.format(1) }}", Err("a width of 5 digits"));
    check("{{ ('{:>1' ~ '0' * 11 ~ '}').format(1) }}", Err("a width of 5 digits"));
    check("{{ {'a': 1}|tojson(indent=100000000000) }}", Err("indent"));
    for expression in [
        "'a' * 100000000000",
        "[1] * 100000000000",
        "range(1000000000)|list",
        "'x'|indent(100000000000)",
        "'%100000000000d'|format(1)",
        "'%.99999999999f'|format(1.5)",
    ] {
        let rendered = render(format!("{{{{ {expression} }}}}"), user("x"));
        assert!(rendered.is_err(), "{expression}");
    }
}
