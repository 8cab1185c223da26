# Completion of seatctl for fish. To enable it: seatctl completion fish | source
function __seatctl_complete
	set -l words (commandline -opc) (commandline -ct)
	$words[1] complete $words[2..-1] 2>/dev/null
end
# Where seatctl has no candidates, fish completes names of files.
complete -c seatctl -n 'count (__seatctl_complete) >/dev/null' -f -a '(__seatctl_complete)'
