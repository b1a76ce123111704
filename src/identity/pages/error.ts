/** The error page, for errors that cannot be sent to the client. */
import { type Html, html } from './html.ts'
import { type PageFrame, page } from './layout.ts'

export interface ErrorData {
  /** For the user. */
  readonly title: string
  readonly lead: string
  /** For developers: the OAuth error code and description. */
  readonly code: string | undefined
  readonly detail: string | undefined
  /** Identifies the line in the log. */
  readonly requestId: string
}

export function errorPage(frame: PageFrame, data: ErrorData): Html {
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
