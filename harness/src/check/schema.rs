//! The format as JSON Schema, for readers that have no use for rules. It comes of the table that
//! the rules about fields and types read, so neither can say what the other does not.

use super::format::{BLOCKS, FORMAT, Form, Kind, LISTS, Others, SCHEMA_VERSION};
use crate::publication;
use serde_json::{Map, Value, json};

/// The schema of a report.
pub fn report() -> Value {
    let what = "A report. Beyond this schema, whole numbers are printed without a point, others \
                with at most nine decimals, no key is repeated and keys stand in this order.";
    document(Kind::Report, what, FORMAT, SCHEMA_VERSION)
}

/// The schema of a publication.
pub fn publication() -> Value {
    let what = "A publication: blocks of a report with what an operator puts beside them. `run` of \
                the report is `selected_run` here.";
    document(Kind::Publication, what, publication::FORMAT, publication::SCHEMA_VERSION)
}

fn document(kind: Kind, what: &str, format: &str, version: u64) -> Value {
    let mut schema = json!({
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": format,
        "description": what,
    });
    let root = object(kind, "").expect("every document has a root");
    schema.as_object_mut().expect("made as one").extend(root);
    schema["properties"]["format"] = json!({"const": format});
    schema["properties"]["schema_version"] = json!({"const": version});
    schema
}

/// The members that describe the objects at a pattern of the table, if it has them: under their own
/// name, or as any of where they lie.
fn object(kind: Kind, at: &str) -> Option<Map<String, Value>> {
    let any = at.rfind('/').map(|end| format!("{}/*", &at[..end]));
    let block = |at: &str| BLOCKS.iter().find(|block| block.of.is_in(kind) && block.at == at);
    let block = block(at).or_else(|| block(&any?))?;
    let mut properties = Map::new();
    for (name, form) in block.fields() {
        let in_table = if name == "selected_run" { "run" } else { name };
        properties.insert(name.to_string(), field(kind, &format!("{at}/{in_table}"), form));
    }
    let required: Vec<String> = properties.keys().cloned().collect();
    let mut object = Map::new();
    object.insert("type".to_string(), json!("object"));
    object.insert("required".to_string(), json!(required));
    object.insert("properties".to_string(), Value::Object(properties));
    if block.others != Others::Welcome {
        object.insert("additionalProperties".to_string(), json!(false));
    }
    Some(object)
}

/// A field with what lies below it.
fn field(kind: Kind, at: &str, form: Form) -> Value {
    let mut schema = form.schema();
    let below = object(kind, &format!("{at}/*"));
    match form {
        Form::List | Form::ListOrNull => {
            schema.extend(below.map(|items| ("items".to_string(), Value::Object(items))));
            let most = LISTS.iter().find(|(list, _)| *list == at);
            schema.extend(most.map(|(_, most)| ("maxItems".to_string(), json!(most))));
        }
        Form::Object | Form::ObjectOrNull => {
            let any = |value| ("additionalProperties".to_string(), Value::Object(value));
            match object(kind, at) {
                Some(own) => schema.extend(own.into_iter().filter(|(key, _)| key != "type")),
                None => schema.extend(below.map(any)),
            }
        }
        _ => {}
    }
    Value::Object(schema)
}

impl Form {
    fn schema(self) -> Map<String, Value> {
        let kind = match self {
            Form::Text => json!("string"),
            Form::Count => json!("integer"),
            Form::Decimal => json!("number"),
            Form::Flag => json!("boolean"),
            Form::List => json!("array"),
            Form::Object => json!("object"),
            Form::TextOrNull => json!(["string", "null"]),
            Form::CountOrNull => json!(["integer", "null"]),
            Form::DecimalOrNull => json!(["number", "null"]),
            Form::FlagOrNull => json!(["boolean", "null"]),
            Form::ListOrNull => json!(["array", "null"]),
            Form::ObjectOrNull => json!(["object", "null"]),
            Form::Any => return Map::new(),
        };
        let mut schema = Map::from_iter([("type".to_string(), kind)]);
        let most = match self {
            Form::Count | Form::CountOrNull => ("maximum", json!(u64::MAX)),
            Form::Decimal | Form::DecimalOrNull => ("exclusiveMaximum", json!(DECIMALS_END)),
            _ => return schema,
        };
        schema.insert("minimum".to_string(), json!(0));
        schema.insert(most.0.to_string(), most.1);
        schema
    }
}

/// With nine decimals there is room for numbers below this.
const DECIMALS_END: f64 = 1e21;
