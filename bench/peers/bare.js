// node:http that answers 200: an upper bound, not a peer.
import http from 'node:http'

http.createServer((_request, response) => response.end('{}')).listen(Number(process.argv[2]), '127.0.0.1')
