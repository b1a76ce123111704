/** What other pages for people are made of, such as those of `site/`: frame, icons, errors, and the rules of their replies. */
export {
  anonymousFrame,
  BROWSER_HEADERS,
  contentPolicy,
  type PageSettings,
  sendPage,
} from './browser/page-reply.ts'
export { type ErrorData, errorPage } from './pages/error.ts'
export { Html, html } from './pages/html.ts'
export { type IconName, icon } from './pages/icons.ts'
export { type PageFrame, PLACES, type Place, sitePage } from './pages/layout.ts'
export type { Messages } from './pages/messages/en.ts'
