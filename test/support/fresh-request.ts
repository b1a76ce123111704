/** A request on a new connection, which a server with several workers hands to the next worker. */
import http from 'node:http'

export interface Reply {
  readonly status: number
  readonly headers: http.IncomingHttpHeaders
  readonly body: string
}

export interface RequestOptions {
  readonly method?: string
  readonly token?: string
  readonly type?: string
  readonly headers?: Readonly<Record<string, string>>
  readonly body?: string
  /** The address that the request comes from. */
  readonly from?: string
  /** Keeps connections; otherwise each request has its own. */
  readonly agent?: http.Agent
}

export function freshRequest(port: number, path: string, options: RequestOptions = {}): Promise<Reply> {
  const { method = options.body === undefined ? 'GET' : 'POST', token, type = 'text/plain', body, agent } = options
  return new Promise((resolve, reject) => {
    const request = http.request(
      {
        ...{ host: '127.0.0.1', port, path, method, agent: agent ?? false },
        ...(options.from !== undefined && { localAddress: options.from }),
        headers: {
          ...(token !== undefined && { authorization: `Bearer ${token}` }),
          ...(body !== undefined && { 'content-type': type, 'content-length': Buffer.byteLength(body) }),
          ...options.headers,
        },
      },
      async (response) => {
        try {
          const chunks = await Array.fromAsync(response)
          const { statusCode: status = 0, headers } = response
          resolve({ status, headers, body: Buffer.concat(chunks).toString() })
        } catch (error) {
          reject(error)
        }
      },
    )
    request.once('error', reject)
    request.end(body)
  })
}
