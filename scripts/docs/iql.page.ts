/** docs/iql.md, from the tables of the language and from examples that are run. */
import { iqlDocs } from './iql.ts'
import type { GeneratedPage } from './page.ts'

export const page: GeneratedPage = { path: 'docs/iql.md', render: iqlDocs }
