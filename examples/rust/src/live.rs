//! Holds the result of a live query: rows by key, first of the snapshot, then as the changes leave them.

use serde_json::Value;
use std::{collections::BTreeMap, fmt};

#[derive(Default)]
pub struct LiveResult {
    /// The rows by the JSON of their key.
    rows: BTreeMap<String, Value>,
    pub changes: usize,
    put: Vec<Value>,
    remove: Vec<Value>,
}

impl LiveResult {
    pub fn apply(&mut self, data: &Value) -> Result<(), String> {
        let kind = data["Kind"].as_str().ok_or("a message without a kind")?;
        if kind == "Reset" || !data["Columns"].is_null() {
            self.rows.clear();
            self.put.clear();
            self.remove.clear();
        }
        if kind != "Snapshot" && kind != "Change" {
            return Ok(());
        }
        self.put.extend(data["Put"].as_array().cloned().unwrap_or_default());
        self.remove.extend(data["Remove"].as_array().cloned().unwrap_or_default());
        if data["More"] == true {
            return Ok(()); // a long message comes in pieces, which are applied together
        }
        for key in self.remove.drain(..) {
            self.rows.remove(&key.to_string());
        }
        for entry in self.put.drain(..) {
            self.rows.insert(entry["Key"].to_string(), entry["Row"].clone());
        }
        self.changes += usize::from(kind == "Change");
        Ok(())
    }
}

impl fmt::Display for LiveResult {
    fn fmt(&self, formatter: &mut fmt::Formatter) -> fmt::Result {
        let rows: Vec<String> = self.rows.values().map(Value::to_string).collect();
        write!(formatter, "[{}]", rows.join(", "))
    }
}
