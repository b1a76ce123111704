/** The page for what cannot be sent back to an application: said plainly to people, precisely to developers. */
import { type Html, html } from './html.ts'
import { type Frame, page } from './layout.ts'

export interface ErrorData {
  /** For the person. */
  readonly title: string
  readonly lead: string
  /** For developers: the OAuth error code and what is wrong. */
  readonly code: string | undefined
  readonly detail: string | undefined
  /** Finds the log line. */
  readonly requestId: string
}

export function errorPage(frame: Frame, data: ErrorData): Html {
  const { messages } = frame.language
  const body = html`
<h1>${data.title}</h1>
<p class="lead">${data.lead}</p>
${
  data.code !== undefined &&
  html`<p class="quiet">${messages.errorDetail}</p>
<p class="break"><code id="error">${data.code}</code>${data.detail !== undefined && html`<br><span id="error-description">${data.detail}</span>`}</p>`
}
<p class="hint break">${messages.errorReference(data.requestId)}</p>`
  return page(frame, { title: data.title, body })
}
