/** Drives a web application in this process that signs in through our server. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'
import { ALICE } from './gatehouse.ts'

export interface Application {
  readonly origin: string
  /** The application is created once its URL is known. */
  answerWith(listener: http.RequestListener): void
  stop(): Promise<void>
}

export async function openApplication(): Promise<Application> {
  const server = http.createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return {
    origin: `http://127.0.0.1:${port}`,
    answerWith: (listener) => void server.on('request', listener),
    async stop() {
      server.closeAllConnections()
      await new Promise((resolve) => server.close(resolve))
    },
  }
}

/** One user with a cookie jar for each of the two hosts. */
export interface Visitor {
  readonly atApplication: UserAgent
  readonly atProvider: UserAgent
  /** Opens a page of the application, follows its redirects and signs in. */
  open(path: string): Promise<Page>
}

export function createVisitor(application: Application, issuer: string): Visitor {
  const atApplication = createUserAgent({ home: application.origin })
  const atProvider = createUserAgent({ home: issuer })
  return {
    atApplication,
    atProvider,
    async open(path) {
      let at = await atApplication.get(path)
      for (let count = 0; count < 4 && at.kind === 'left'; count++) {
        const { end } = await visit(atProvider, await atProvider.get(at.url), ALICE)
        if (end.kind === 'page') return end
        at = end.method === 'POST' ? await atApplication.post(end.url, end.form) : await atApplication.get(end.url)
      }
      if (at.kind === 'left') throw new Error(`The application keeps redirecting: ${at.url}`)
      return at
    },
  }
}
