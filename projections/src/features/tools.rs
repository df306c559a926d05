//! Tools that only read: nothing is different after them.

/// Their names, in lower case and in order, as the agents in use name them. Facts 1.2 name the first few and say that
/// the full list is not known; a tool that is not here counts as one that changes things.
const READ_ONLY: [&str; 43] = [
    "cat",
    "codebase_search",
    "fetch",
    "fetch_web_content",
    "file_search",
    "find",
    "find_file",
    "find_files",
    "get_file_contents",
    "glob",
    "glob_file_search",
    "grep",
    "grep_search",
    "head",
    "list",
    "list_code_definition_names",
    "list_dir",
    "list_directory",
    "list_files",
    "ls",
    "lsp",
    "notebookread",
    "read",
    "read_file",
    "read_file_range",
    "read_files",
    "read_many_files",
    "rg",
    "search",
    "search_code",
    "search_codebase",
    "search_files",
    "tail",
    "tool_search",
    "toolsearch",
    "tree",
    "view",
    "view_file",
    "view_image",
    "web_fetch",
    "web_search",
    "webfetch",
    "websearch",
];

/// True when a tool of this name only reads. Case does not matter.
pub(super) fn only_reads(name: &str) -> bool {
    READ_ONLY.binary_search(&name.to_ascii_lowercase().as_str()).is_ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_in_order_and_in_lower_case() {
        assert!(READ_ONLY.is_sorted_by(|one, next| one < next));
        assert!(READ_ONLY.iter().all(|name| *name == name.to_ascii_lowercase()));
    }

    #[test]
    fn tools_that_only_read_are_known_by_name() {
        for name in
            ["read", "Read", "GREP", "Glob", "LS", "lsp", "list_directory", "WebFetch", "web_fetch"]
        {
            assert!(only_reads(name), "{name}");
        }
        for name in ["", "edit", "Write", "bash", "read_and_write", " read", "multi_edit"] {
            assert!(!only_reads(name), "{name}");
        }
    }
}
