// EASY backfilling as an external scheduler of netcosim (protocol version 1).
// rustc -O -o easy easy.rs
use std::collections::{BTreeSet, HashMap};
use std::io::{self, BufRead, Write};

// A JSON value. In a program of your own, use serde_json.
#[derive(Default)]
struct Json {
    number: f64,
    text: String,
    list: Vec<Json>,
    table: HashMap<String, Json>,
}

struct Parser<'a> {
    bytes: &'a [u8],
    at: usize,
}

impl Parser<'_> {
    fn peek(&self) -> u8 {
        *self.bytes.get(self.at).unwrap_or(&0)
    }

    fn blanks(&mut self) -> u8 {
        while matches!(self.peek(), b' ' | b',' | b':') {
            self.at += 1;
        }
        self.peek()
    }

    fn quoted(&mut self) -> String {
        let mut text = Vec::new();
        self.at += 1;
        while !matches!(self.peek(), b'"' | 0) {
            if self.peek() == b'\\' {
                self.at += 1;
            }
            text.push(self.peek());
            self.at += 1;
        }
        self.at += 1;
        String::from_utf8_lossy(&text).into_owned()
    }

    fn value(&mut self) -> Json {
        let mut value = Json::default();
        match self.blanks() {
            b'"' => value.text = self.quoted(),
            b'[' => {
                self.at += 1;
                while !matches!(self.blanks(), b']' | 0) {
                    value.list.push(self.value());
                }
                self.at += 1;
            }
            b'{' => {
                self.at += 1;
                while !matches!(self.blanks(), b'}' | 0) {
                    let key = self.quoted();
                    value.table.insert(key, self.value());
                }
                self.at += 1;
            }
            _ => {
                let begin = self.at;
                while !matches!(self.peek(), b',' | b']' | b'}' | b' ' | 0) {
                    self.at += 1;
                }
                let text = std::str::from_utf8(&self.bytes[begin..self.at]).unwrap_or("");
                value.number = text.parse().unwrap_or(0.0); // also of true, false, null
            }
        }
        value
    }
}

impl Json {
    fn number(&self, key: &str) -> f64 {
        self.table[key].number
    }

    fn list(&self, key: &str) -> &[Json] {
        self.table.get(key).map_or(&[], |value| &value.list)
    }
}

struct Job {
    id: i64,
    nodes: i64,
    walltime: f64,
}

// Bits of a positive time sort as the time does.
type Promise = (u64, i64, i64);

fn main() {
    let mut waiting: Vec<Job> = Vec::new(); // in order of submission
    let mut running: BTreeSet<Promise> = BTreeSet::new(); // promised end, id, nodes
    let mut promised: HashMap<i64, Promise> = HashMap::new();
    let mut out = io::stdout().lock();
    for line in io::stdin().lock().lines() {
        let line = line.unwrap();
        let message = Parser { bytes: line.as_bytes(), at: 0 }.value();
        match message.table["type"].text.as_str() {
            "end" => break,
            "hello" => writeln!(out, "{{\"protocol\": 1}}").unwrap(),
            _ => {
                let now = message.number("now_s");
                let mut free = message.number("free") as i64;
                for job in message.list("finished") {
                    let promise = promised.remove(&(job.number("id") as i64)).unwrap();
                    running.remove(&promise);
                }
                for job in message.list("submitted") {
                    waiting.push(Job {
                        id: job.number("id") as i64,
                        nodes: job.number("nodes") as i64,
                        walltime: job.number("walltime_s"),
                    });
                }
                // Of the first job that must wait: when it can start, and the nodes it leaves.
                let mut shadow: Option<(f64, i64)> = None;
                let mut started: Vec<String> = Vec::new();
                waiting.retain(|job| {
                    let end = now + job.walltime;
                    let late = shadow.map_or(false, |(time, _)| end > time);
                    let fits = job.nodes <= free;
                    if fits && (!late || shadow.map_or(true, |(_, extra)| job.nodes <= extra)) {
                        if let (true, Some((_, extra))) = (late, shadow.as_mut()) {
                            *extra -= job.nodes;
                        }
                        free -= job.nodes;
                        started.push(job.id.to_string());
                        let promise = (end.to_bits(), job.id, job.nodes);
                        running.insert(promise);
                        promised.insert(job.id, promise);
                        return false;
                    }
                    if shadow.is_none() {
                        let (mut time, mut then) = (now, free);
                        for &(end, _, nodes) in &running {
                            if f64::from_bits(end) > time {
                                if then >= job.nodes {
                                    break;
                                }
                                time = f64::from_bits(end);
                            }
                            then += nodes;
                        }
                        shadow = Some((time, then - job.nodes));
                    }
                    true
                });
                writeln!(out, "{{\"start\":[{}]}}", started.join(",")).unwrap();
            }
        }
        out.flush().unwrap();
    }
}
