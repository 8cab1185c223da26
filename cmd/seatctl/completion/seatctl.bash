# Completion of seatctl for bash. To enable it: source <(seatctl completion bash)
_seatctl() {
	local IFS=$'\n'
	COMPREPLY=($("$1" complete "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null | cut -f 1))
}
complete -o default -F _seatctl seatctl
