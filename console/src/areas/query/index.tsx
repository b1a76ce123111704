/** The area Query. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Query(_: AreaProps) {
  return <Page title="Query">{null}</Page>
}
