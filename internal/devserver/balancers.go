package devserver

import (
	"context"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strings"
)

// HAProxyCommand runs deploy/haproxy as it is, in front of three addresses. deploy is that folder.
func HAProxyCommand(ctx context.Context, deploy, listen string, servers [3]string, progress io.Writer) (Command, error) {
	binary, env, err := HAProxy(ctx, progress)
	return Command{
		Args: []string{binary, "-db", "-f", filepath.Join(deploy, "haproxy", "haproxy.cfg")},
		Env:  append(env, "LISTEN="+listen, "API_1="+servers[0], "API_2="+servers[1], "API_3="+servers[2]),
	}, err
}

// NginxCommand runs deploy/nginx as it is, but for its lists of addresses, in a small nginx.conf. It writes that and the
// lists to a new folder, the command's TempDir.
func NginxCommand(ctx context.Context, deploy, listen string, servers [3]string, progress io.Writer) (Command, error) {
	binary, env, err := Nginx(ctx, progress)
	if err != nil {
		return Command{}, err
	}
	shipped, err := filepath.Abs(filepath.Join(deploy, "nginx"))
	if err != nil {
		return Command{}, err
	}
	template, err := os.ReadFile(filepath.Join(shipped, "holdfast", "servers.conf"))
	if err != nil {
		return Command{}, err
	}
	list := string(template)
	for i, server := range servers {
		list = strings.Replace(list, fmt.Sprintf("127.0.0.1:808%d", i+1), server, 1)
	}
	dir, err := os.MkdirTemp("", "nginx-")
	if err != nil {
		return Command{}, err
	}
	main := "daemon off; pid nginx.pid; error_log stderr; worker_processes 1; events { worker_connections 4096; }\n" +
		"http { access_log off; client_body_temp_path body; proxy_temp_path proxy; fastcgi_temp_path fastcgi; uwsgi_temp_path uwsgi;\n" +
		"scgi_temp_path scgi; include " + filepath.Join(shipped, "holdfast.conf") + "; }\n"
	if os.Getuid() == 0 {
		main = "user root;\n" + main
	}
	for name, text := range map[string]string{
		"nginx.conf": main, "holdfast/servers.conf": list, "holdfast/listen.conf": "listen " + listen + ";\n",
	} {
		file := filepath.Join(dir, name)
		if err := os.MkdirAll(filepath.Dir(file), 0o700); err != nil {
			return Command{}, err
		}
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			return Command{}, err
		}
	}
	return Command{Args: []string{binary, "-p", dir, "-c", filepath.Join(dir, "nginx.conf"), "-e", "stderr"}, Env: env, TempDir: dir}, nil
}
