/** A person uses a web application that signs people in through our server; the application runs in this process. */
import http from 'node:http'
import type { AddressInfo } from 'node:net'
import { createUserAgent, type Page, type UserAgent } from '../support/user-agent.ts'
import { visit } from '../support/visitor.ts'
import { ALICE } from './place.ts'

export interface Application {
  readonly origin: string
  /** The application is made once its address is known. */
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

/** Two hosts, two jars of cookies, one person. */
export interface Visitor {
  readonly atApplication: UserAgent
  readonly atProvider: UserAgent
  /** Opens a page of the application and follows wherever it leads, signing in on the way. */
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
      if (at.kind === 'left') throw new Error(`The application keeps sending away: ${at.url}`)
      return at
    },
  }
}
