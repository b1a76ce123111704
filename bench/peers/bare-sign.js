// node:http that signs a JWT per request on the thread pool: an upper bound, not a peer.
import { generateKeyPairSync, randomUUID, sign } from 'node:crypto'
import http from 'node:http'

const { privateKey } = generateKeyPairSync('rsa', { modulusLength: 2048 })
const header = Buffer.from(JSON.stringify({ alg: 'RS256', typ: 'at+jwt', kid: 'bare' })).toString('base64url')

http
  .createServer((request, response) => {
    request.resume()
    request.on('end', () => {
      const iat = Math.floor(Date.now() / 1000)
      const claims = {
        iss: 'http://127.0.0.1',
        sub: 'bench',
        aud: 'platform',
        client_id: 'bench',
        scope: 'Platform/News',
        iat,
        nbf: iat,
        exp: iat + 3600,
        jti: randomUUID(),
      }
      const input = `${header}.${Buffer.from(JSON.stringify(claims)).toString('base64url')}`
      sign('sha256', Buffer.from(input), privateKey, (error, signature) => {
        if (error !== null) throw error
        const body = JSON.stringify({
          access_token: `${input}.${signature.toString('base64url')}`,
          expires_in: 3600,
          token_type: 'Bearer',
          scope: 'Platform/News',
        })
        response.writeHead(200, {
          'content-type': 'application/json',
          'cache-control': 'no-store',
          'content-length': Buffer.byteLength(body),
        })
        response.end(body)
      })
    })
  })
  .listen(Number(process.argv[2]), '127.0.0.1')
