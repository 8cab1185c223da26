package holdfast

import "time"

// User is a customer. The email address is unique without regard to case.
type User struct {
	ID        ID
	Name      string
	Email     string
	CreatedAt time.Time
}

// NewUser asks for a user.
type NewUser struct{ Name, Email string }
