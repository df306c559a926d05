//! Where clients keep their sessions.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

use super::Format;

/// A folder that some client keeps sessions in, and what lies there.
#[derive(Debug)]
pub(crate) struct Place {
    /// What it keeps.
    pub(crate) format: Format,
    /// The client, as people call it.
    pub(crate) client: &'static str,
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The sessions' files, sorted; none where there is no such folder.
    pub(crate) files: Vec<PathBuf>,
    /// Folders in it that cannot be read.
    pub(crate) unreadable: usize,
}

/// The usual places: what the environment names, else below the home directory.
pub(crate) fn usual(home: Option<&Path>, named: impl Fn(&str) -> Option<PathBuf>) -> Vec<Place> {
    let below = |folders: &[&str]| -> Vec<PathBuf> {
        home.map_or_else(Vec::new, |home| folders.iter().map(|folder| home.join(folder)).collect())
    };
    let or_below = |name, folders: &[&str]| match named(name) {
        Some(folder) => vec![folder],
        None => below(folders),
    };
    let claude = or_below("CLAUDE_CONFIG_DIR", &[".claude", ".config/claude"]);
    let codex = or_below("CODEX_HOME", &[".codex"]);
    let place = |format, client, folder: PathBuf| {
        let (files, unreadable) = look(&folder);
        Place { format, client, files, unreadable, folder }
    };
    let claude = claude
        .into_iter()
        .map(|folder| place(Format::ClaudeCode, "Claude Code", folder.join("projects")));
    let codex = codex
        .into_iter()
        .flat_map(|folder| ["sessions", "archived_sessions"].map(|name| folder.join(name)))
        .map(|folder| place(Format::Codex, "Codex", folder));
    claude.chain(codex).collect()
}

/// The JSON-lines files of a folder and the folders in it, sorted. Links are not followed.
pub(crate) fn sessions(folder: &Path) -> Vec<PathBuf> {
    look(folder).0
}

/// The files, and how much could not be looked into.
fn look(folder: &Path) -> (Vec<PathBuf>, usize) {
    let (mut files, mut unreadable) = (Vec::new(), 0);
    for entry in WalkDir::new(folder).sort_by_file_name() {
        match entry {
            Ok(entry) => {
                let is_session = entry.file_type().is_file()
                    && entry.path().extension().is_some_and(|extension| extension == "jsonl");
                files.extend(is_session.then(|| entry.into_path()));
            }
            // That the folder itself is not there is no news.
            Err(error) => unreadable += usize::from(error.depth() > 0),
        }
    }
    (files, unreadable)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sessions_are_found_wherever_they_lie() {
        let home = tempfile::tempdir().unwrap();
        let file = |path: &str| {
            let path = home.path().join(path);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(path, "").unwrap();
        };
        file(".claude/projects/-home-me-b/s2.jsonl");
        file(".claude/projects/-home-me-a/s1.jsonl");
        file(".claude/projects/-home-me-a/s1/subagents/agent-a17.jsonl");
        file(".claude/projects/-home-me-a/notes.txt");
        file(".codex/sessions/2026/01/05/rollout-1.jsonl");
        file("elsewhere/sessions/rollout-2.jsonl");
        let found = |named: &dyn Fn(&str) -> Option<PathBuf>| -> Vec<(&str, usize)> {
            let places = usual(Some(home.path()), named);
            places.iter().map(|place| (place.client, place.files.len())).collect()
        };
        assert_eq!(
            found(&|_| None),
            [("Claude Code", 3), ("Claude Code", 0), ("Codex", 1), ("Codex", 0)]
        );
        let codex = home.path().join("elsewhere");
        let named = |name: &str| (name == "CODEX_HOME").then(|| codex.clone());
        assert_eq!(found(&named)[2..], [("Codex", 1), ("Codex", 0)]);
        let claude = usual(Some(home.path()), |_| None).remove(0);
        assert!(claude.files[0].ends_with("-home-me-a/s1/subagents/agent-a17.jsonl"));
        assert!(usual(None, |_| None).is_empty());
    }
}
