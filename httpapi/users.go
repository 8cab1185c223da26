package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast"
	"github.com/holdfast-dev/holdfast/internal/config"
)

type userBody struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

func newUserBody(u holdfast.User) userBody {
	return userBody{ID: u.ID.String(), Name: u.Name, Email: u.Email, CreatedAt: formatTime(u.CreatedAt)}
}

type newUser struct {
	IdempotencyHeader
	Body struct {
		Name           displayName  `json:"name"`
		Email          emailAddress `json:"email"`
		IdempotencyKey string       `json:"idempotencyKey,omitempty" nullable:"true" minLength:"1" maxLength:"200" doc:"Per API key, for 24 h."`
	}
}

type userUpdate struct {
	PathID
	Body struct {
		Name  changeOf[displayName]  `json:"name,omitempty"`
		Email changeOf[emailAddress] `json:"email,omitempty"`
	}
}

type userFilterByEmail struct {
	PageQuery
	Email emailAddress `query:"email" required:"true"`
}

func (a *api) registerUserRoutes() {
	tags := []string{"Users"}
	route(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/api/users", Tags: tags,
		Summary:       "Create a user",
		Description:   "The same request with the same idempotency key returns the user that the first one created.",
		DefaultStatus: http.StatusCreated, Errors: []int{http.StatusConflict},
	}, config.ScopeBooking, a.createUser)
	route(a, huma.Operation{
		OperationID: "find-user", Method: http.MethodGet, Path: "/api/users", Tags: tags,
		Summary: "Find the user with an email address", Description: "In any case. The list has one item or none.",
	}, config.ScopeBooking, a.findUser)
	route(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/api/users/{id}", Tags: tags,
		Summary: "Get a user", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[userBody], error) {
		if err := requireCustomer(ctx, Customer{UserID: parseID(in.ID)}); err != nil {
			return nil, err
		}
		u, err := a.Users.GetUser(ctx, parseID(in.ID))
		return &found[userBody]{Body: newUserBody(u)}, err
	})
	route(a, huma.Operation{
		OperationID: "update-user", Method: http.MethodPatch, Path: "/api/users/{id}", Tags: tags,
		Summary: "Update a user", Description: "Changes the fields that are given.",
		Errors: []int{http.StatusNotFound, http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *userUpdate) (*found[userBody], error) {
		var change holdfast.UserChange
		if name := in.Body.Name.to; name != nil {
			change.Name = new(strings.TrimSpace(string(*name)))
		}
		if email := in.Body.Email.to; email != nil {
			change.Email = new(string(*email))
		}
		u, err := a.Users.UpdateUser(ctx, parseID(in.ID), change)
		return &found[userBody]{Body: newUserBody(u)}, err
	})
}

func (a *api) createUser(ctx context.Context, in *newUser) (*created[userBody], error) {
	key, err := in.creationKey(ctx, in.Body.IdempotencyKey)
	if err != nil {
		return nil, err
	}
	n := holdfast.NewUser{Name: strings.TrimSpace(string(in.Body.Name)), Email: string(in.Body.Email)}
	u, replayed, err := a.Users.CreateUserOnce(ctx, n, key)
	return newCreated("/api/users/", u.ID, replayed, newUserBody(u)), err
}

func (a *api) findUser(ctx context.Context, in *userFilterByEmail) (*list[userBody], error) {
	if in.PageToken != "" {
		return nil, holdfast.RefuseInput("query.pageToken", "This list has no second page.")
	}
	var items []holdfast.User
	u, exists, err := a.Users.FindUser(ctx, string(in.Email))
	if exists {
		items = append(items, u)
	}
	return newList(items, "", newUserBody), err
}
