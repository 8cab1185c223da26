package app

// connections is how many connections this process may serve. Windows has no limit of open files.
func connections() int64 { return maxConnections }
