package users

import "github.com/holdfast-dev/holdfast"

type User = holdfast.User

const (
	CodeNotFound   = holdfast.CodeUserNotFound
	CodeEmailTaken = holdfast.CodeEmailTaken
)

func NotFound() error { return errNotFound() }
