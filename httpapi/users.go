package httpapi

import (
	"context"
	"net/http"
	"strings"

	"github.com/danielgtaylor/huma/v2"

	"github.com/holdfast-dev/holdfast/internal/config"
	"github.com/holdfast-dev/holdfast/users"
)

type userBody struct {
	ID        string `json:"id"`
	Name      string `json:"name"`
	Email     string `json:"email"`
	CreatedAt string `json:"createdAt" format:"date-time"`
}

func shapeUser(u users.User) userBody {
	return userBody{u.ID.String(), u.Name, u.Email, stamp(u.CreatedAt)}
}

type newUser struct {
	Body struct {
		Name  string `json:"name" minLength:"1" maxLength:"200" pattern:"^[^\\x00-\\x1f\\x7f]*[^\\s\\x00-\\x1f\\x7f][^\\x00-\\x1f\\x7f]*$" doc:"Not blank, no control characters."`
		Email string `json:"email" maxLength:"254" format:"email" pattern:"^[^@\\s<>\\x00-\\x1f\\x7f-\\x9f]+@[^@\\s<>*,;:()\\x00-\\x1f\\x7f-\\x9f]+$" doc:"Unique, without regard to case."`
	}
}

func (a *api) userRoutes() {
	tags := []string{"Users"}
	route(a, huma.Operation{
		OperationID: "create-user", Method: http.MethodPost, Path: "/api/users", Tags: tags,
		Summary: "Create a user", DefaultStatus: http.StatusCreated, Errors: []int{http.StatusConflict},
	}, config.ScopeBooking, func(ctx context.Context, in *newUser) (*created[userBody], error) {
		u, err := a.Users.Create(ctx, strings.TrimSpace(in.Body.Name), in.Body.Email)
		return &created[userBody]{"/api/users/" + u.ID.String(), shapeUser(u)}, err
	})
	route(a, huma.Operation{
		OperationID: "get-user", Method: http.MethodGet, Path: "/api/users/{id}", Tags: tags,
		Summary: "Get a user", Errors: []int{http.StatusNotFound},
	}, scopeCustomer, func(ctx context.Context, in *PathID) (*found[userBody], error) {
		if err := asUser(ctx, parseID(in.ID)); err != nil {
			return nil, err
		}
		u, err := a.Users.Get(ctx, parseID(in.ID))
		return &found[userBody]{shapeUser(u)}, err
	})
}
