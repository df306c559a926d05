//! Where clients keep their sessions.

use std::path::{Path, PathBuf};

use walkdir::WalkDir;

/// A folder that some client keeps sessions in, and what lies there.
#[derive(Debug)]
pub(crate) struct Place {
    /// The client, as people call it.
    pub(crate) client: &'static str,
    /// The folder.
    pub(crate) folder: PathBuf,
    /// The sessions' files, sorted; none where there is no such folder.
    pub(crate) files: Vec<PathBuf>,
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
    let place = |client, folder: PathBuf| Place { client, files: sessions(&folder), folder };
    let claude = claude.into_iter().map(|folder| place("Claude Code", folder.join("projects")));
    let codex = codex
        .into_iter()
        .flat_map(|folder| ["sessions", "archived_sessions"].map(|name| folder.join(name)))
        .map(|folder| place("Codex", folder));
    claude.chain(codex).collect()
}

/// The JSON-lines files of a folder and the folders in it, sorted. Links are not followed.
pub(crate) fn sessions(folder: &Path) -> Vec<PathBuf> {
    WalkDir::new(folder)
        .sort_by_file_name()
        .into_iter()
        .filter_map(Result::ok)
        .filter(|entry| entry.file_type().is_file())
        .map(walkdir::DirEntry::into_path)
        .filter(|path| path.extension().is_some_and(|extension| extension == "jsonl"))
        .collect()
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
