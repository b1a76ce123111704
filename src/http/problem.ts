/** A failure as the caller sees it (RFC 9457), from the application or from what answers without it. */
import type { ServerResponse } from 'node:http'
import type { FastifyReply } from 'fastify'
import { problemOf } from '../protocol/problem.ts'
import { Refusal } from '../protocol/refusal.ts'
import { SECURITY_HEADERS } from './every-answer.ts'

/** What is our own fault: the caller learns no more than that. */
export const FAULT = new Refusal(
  'server.fault',
  500,
  'The server failed to answer; the fault is logged under the request id',
)

export function problem(reply: FastifyReply, refusal: Refusal): FastifyReply {
  return reply
    .code(refusal.status)
    .headers(refusal.details.headers ?? {})
    .type(PROBLEM)
    .send(problemOf(refusal))
}

/** The same to a request that no application has. */
export function answerProblem(response: ServerResponse, requestId: string, refusal: Refusal): void {
  const text = JSON.stringify(problemOf(refusal))
  response
    .writeHead(refusal.status, {
      ...SECURITY_HEADERS,
      'request-id': requestId,
      ...refusal.details.headers,
      'content-type': PROBLEM,
      'content-length': Buffer.byteLength(text),
    })
    .end(text)
}

export const PROBLEM = 'application/problem+json; charset=utf-8'
