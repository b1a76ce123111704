/** docs/iql.md, generated from the tables of the language and from tested examples. */
import { iqlDocs } from './iql.ts'
import type { GeneratedPage } from './page.ts'

export const page: GeneratedPage = { path: 'docs/iql.md', render: iqlDocs }
