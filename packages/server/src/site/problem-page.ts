/** Problem documents as pages, for people who opened an address in a browser. */

import type { Problem } from 'gatehouse-protocol'
import type { Context } from '../http/context.ts'
import {
  anonymousFrame,
  type ErrorData,
  errorPage,
  type Messages,
  type PageSettings,
  sendPage,
} from '../identity/page-parts.ts'

export function showProblem(context: Context, problem: Problem, pages: PageSettings): void {
  const frame = anonymousFrame(pages, context)
  const { status, Code: code, detail } = problem
  const explained = explain(status, frame.language.messages)
  const page = errorPage(frame, { code, detail, ...explained, requestId: context.id })
  sendPage(context, page, { status })
}

function explain(status: number, text: Messages): Omit<ErrorData, 'requestId'> {
  const { problem } = text
  switch (status) {
    case 404:
      return { title: problem.notFound, lead: problem.notFoundLead, detail: undefined, isMistake: true }
    case 401:
    case 403:
      return { title: problem.unauthorized, lead: problem.unauthorizedLead, way: 'console', isMistake: true }
    case 405:
    case 406:
    case 426:
      return { title: problem.wrongMethod, lead: problem.wrongMethodLead, isMistake: true }
    case 429:
      return { title: problem.tooMany, lead: problem.tooManyLead, isMistake: true }
    case 500:
      return { title: text.error, lead: text.serverFault }
    case 503:
      return { title: text.error, lead: text.unavailable }
    default:
      return { title: problem.title, lead: problem.lead }
  }
}
