//! The grammar of scenario files as a JSON Schema, for editors and for the checker.

use schemars::generate::SchemaSettings;
use schemars::transform::{Transform, transform_subschemas};
use schemars::{JsonSchema, Schema};
use serde_json::{Map, Value, json};

/// JSON Schema (draft 2020-12) of a scenario file.
///
/// Quantities are strings with a `pattern` and an `x-quantity` of `duration`, `size`, `rate` or `length`.
pub fn schema() -> Value {
    schema_of::<crate::scenario::File>()
}

/// JSON Schema of a file that has the form of this type, in the same style.
pub fn schema_of<T: JsonSchema>() -> Value {
    let generator = SchemaSettings::draft2020_12().with_transform(Tidy).into_generator();
    generator.into_root_schema_for::<T>().to_value()
}

/// Tables take no keys but their own; TOML has no null; descriptions are one paragraph.
#[derive(Clone)]
struct Tidy;

impl Transform for Tidy {
    fn transform(&mut self, schema: &mut Schema) {
        let Some(object) = schema.as_object_mut() else { return };
        drop_null(object);
        if let Some(Value::String(text)) = object.get_mut("description") {
            *text = text.replace('\n', " ");
        }
        describe_the_only_key(object);
        if object.remove("format").is_some_and(|format| format == "uint32") {
            object.entry("maximum").or_insert(json!(u32::MAX));
        }
        object.remove("default");
        if object.contains_key("properties") && object.get("properties").is_some_and(is_closed) {
            let key = if object.contains_key("oneOf") {
                "unevaluatedProperties"
            } else {
                "additionalProperties"
            };
            object.insert(key.into(), json!(false));
        }
        transform_subschemas(self, schema);
    }
}

/// The key of a variant that is a table of one key is described as the variant is.
fn describe_the_only_key(object: &mut Map<String, Value>) {
    let Some(text @ Value::String(_)) = object.get("description").cloned() else { return };
    if let Some(Value::Object(properties)) = object.get_mut("properties")
        && properties.len() == 1
        && let Some(Value::Object(only)) = properties.values_mut().next()
    {
        only.entry("description").or_insert(text);
    }
}

/// A variant of a tagged table stays open: the table around it closes both.
fn is_closed(properties: &Value) -> bool {
    properties.get("kind").and_then(|kind| kind.get("const")).is_none()
}

fn drop_null(object: &mut Map<String, Value>) {
    if let Some(Value::Array(kinds)) = object.get("type") {
        let kinds: Vec<&Value> = kinds.iter().filter(|k| *k != "null").collect();
        if let [one] = kinds[..] {
            let one = one.clone();
            object.insert("type".into(), one);
        }
    }
    let null = json!({ "type": "null" });
    if let Some(Value::Array(any)) = object.get("anyOf")
        && let [one, last] = &any[..]
        && *last == null
        && let Value::Object(one) = one.clone()
    {
        object.remove("anyOf");
        for (key, value) in one {
            object.entry(key).or_insert(value);
        }
    }
}
