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
	Body struct {
		Name  displayName  `json:"name"`
		Email emailAddress `json:"email"`
	}
}

func (a *api) registerUserRoutes() {
	tags := []string{"Users"}
	route(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/api/users", Tags: tags,
		Summary: "Create a user", DefaultStatus: http.StatusCreated, Errors: []int{http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *newUser) (*created[userBody], error) {
		u, err := a.Users.CreateUser(ctx, strings.TrimSpace(string(in.Body.Name)), string(in.Body.Email))
		return &created[userBody]{Location: "/api/users/" + u.ID.String(), Body: newUserBody(u)}, err
	})
	route(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/api/users/{id}", Tags: tags,
		Summary: "Get a user", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[userBody], error) {
		if err := requireUser(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		u, err := a.Users.GetUser(ctx, parseID(in.ID))
		return &found[userBody]{Body: newUserBody(u)}, err
	})
}
