#compdef seatctl
# Completion of seatctl for zsh. To enable it, after compinit: source <(seatctl completion zsh)
# Or save it as _seatctl in a folder of $fpath.
_seatctl() {
	local -a candidates
	candidates=(${(f)"$($words[1] complete "${(@)words[2,CURRENT]}" 2>/dev/null)"})
	candidates=("${(@)candidates/$'\t'/:}") # a word and what it does
	if (( ${#candidates} )); then
		_describe seatctl candidates
	else
		_files
	fi
}
if [[ $funcstack[1] == _seatctl ]]; then # as a file of $fpath
	_seatctl "$@"
else
	compdef _seatctl seatctl
fi
