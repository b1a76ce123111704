/** A part of the server that is put together when somebody first comes to it: no start waits for it, and who needs it not never loads it. */
import type { RequestListener } from 'node:http'
import type { FastifyInstance } from 'fastify'
import { requestIdOf } from '../http/every-answer.ts'
import { answerProblem, FAULT } from '../http/problem.ts'

export interface Later {
  readonly routing: RequestListener
  close(): Promise<void>
}

export interface LaterOptions {
  readonly build: () => Promise<FastifyInstance>
  readonly onError: (error: unknown, requestId: string) => void
}

export function openLater({ build, onError }: LaterOptions): Later {
  let opening: Promise<FastifyInstance> | undefined
  let app: FastifyInstance | undefined

  return {
    routing(request, response) {
      if (app !== undefined) return app.routing(request, response)
      open().then(
        (opened) => opened.routing(request, response),
        (error) => {
          const requestId = requestIdOf(request)
          onError(error, requestId)
          answerProblem(response, requestId, FAULT)
        },
      )
    },
    async close() {
      await opening?.then(
        (opened) => opened.close(),
        () => {},
      )
    },
  }

  /** What failed is tried again by the next who comes. */
  async function open(): Promise<FastifyInstance> {
    opening ??= build()
    try {
      app = await opening
      return app
    } catch (error) {
      opening = undefined
      throw error
    }
  }
}
