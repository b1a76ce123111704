/** Access tokens from the token endpoint of a server with demo data. */

export function adminToken(port: number): Promise<string> {
  return requestToken(port, {
    grant_type: 'password',
    client_id: 'demo-cli',
    username: 'admin',
    password: 'admin-please-change',
  })
}

export function serviceToken(port: number): Promise<string> {
  return clientToken(port, 'demo-service', 'demo-service-secret')
}

/** Of a program, for itself. */
export function clientToken(port: number, id: string, secret: string): Promise<string> {
  return requestToken(port, { grant_type: 'client_credentials', client_id: id, client_secret: secret })
}

async function requestToken(port: number, form: Record<string, string>): Promise<string> {
  const response = await fetch(`http://127.0.0.1:${port}/connect/token`, {
    method: 'POST',
    body: new URLSearchParams(form),
  })
  const token = /"access_token":"([^"]+)"/.exec(await response.text())?.[1]
  if (token === undefined) throw new Error(`The token endpoint answered ${response.status}`)
  return token
}
