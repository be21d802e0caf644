//! One measurement counts once: a row may say how its number follows from those of others.

use serde::{Deserialize, Serialize};

/// How a row's number follows from those of other rows: their ids, numbers, `x`, `/` and `-`, worked out from left to right:
/// `"fig2-goodput"`, `"fig16-goodput x 1.05"`, `"nv-drops / bic-drops"`, `"1 - fig2-left x 100"`.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(try_from = "String", into = "String")]
pub struct Repeats {
    first: Term,
    then: Vec<(char, Term)>,
}

#[derive(Clone, Debug, PartialEq)]
enum Term {
    Number(f64),
    Row(String),
}

impl Repeats {
    /// Ids of the rows that it names.
    pub fn ids(&self) -> impl Iterator<Item = &str> {
        let terms = std::iter::once(&self.first).chain(self.then.iter().map(|(_, term)| term));
        terms.filter_map(|term| match term {
            Term::Row(id) => Some(id.as_str()),
            Term::Number(_) => None,
        })
    }

    /// The number that follows; `None` if one of the others has none.
    pub(crate) fn value(&self, number_of: impl Fn(&str) -> Option<f64>) -> Option<f64> {
        let value = |term: &Term| match term {
            Term::Number(number) => Some(*number),
            Term::Row(id) => number_of(id),
        };
        self.then.iter().try_fold(value(&self.first)?, |left, (operator, term)| {
            let right = value(term)?;
            Some(match operator {
                'x' => left * right,
                '/' => left / right,
                _ => left - right,
            })
        })
    }
}

impl TryFrom<String> for Repeats {
    type Error = String;

    fn try_from(text: String) -> Result<Self, String> {
        let wrong = || {
            format!(
                "\"{text}\" names no other row's number: write its id, or ids and numbers with \" x \", \" / \" or \" - \" between them"
            )
        };
        let term = |word: &str| match word.parse::<f64>() {
            Ok(number) => Term::Number(number),
            Err(_) => Term::Row(word.into()),
        };
        let words: Vec<&str> = text.split(' ').collect();
        let (first, rest) = words.split_first().ok_or_else(wrong)?;
        let mut read = Self { first: term(first), then: Vec::new() };
        for pair in rest.chunks(2) {
            match *pair {
                [operator @ ("x" | "/" | "-"), word] => {
                    read.then.push((operator.as_bytes()[0] as char, term(word)));
                }
                _ => return Err(wrong()),
            }
        }
        let named = read.ids().count() > 0 && read.ids().all(|id| !id.is_empty());
        if named { Ok(read) } else { Err(wrong()) }
    }
}

impl From<Repeats> for String {
    fn from(repeats: Repeats) -> Self {
        let word = |term: &Term| match term {
            Term::Number(number) => number.to_string(),
            Term::Row(id) => id.clone(),
        };
        let rest =
            repeats.then.iter().map(|(operator, term)| format!(" {operator} {}", word(term)));
        word(&repeats.first) + &rest.collect::<String>()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_number_that_follows_from_others_is_worked_out_from_left_to_right() {
        let of =
            |id: &str| [("a", 0.25), ("b", 2.0)].iter().find(|(name, _)| *name == id).map(|f| f.1);
        for (text, value) in
            [("a", 0.25), ("a x 4", 1.0), ("a / b", 0.125), ("1 / a", 4.0), ("1 - a x 100", 75.0)]
        {
            let repeats = Repeats::try_from(text.to_string()).expect(text);
            assert_eq!(repeats.value(of), Some(value), "{text}");
            assert_eq!(String::from(repeats), text);
        }
        assert_eq!(Repeats::try_from("c x 2".to_string()).expect("it is one").value(of), None);
        for text in ["", "2", "a x", "a + b", "a  b", "2 x 3"] {
            assert!(Repeats::try_from(text.to_string()).is_err(), "{text}");
        }
    }
}
