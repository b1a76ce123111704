/** The area Tables. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Tables(_: AreaProps) {
  return <Page title="Tables">{null}</Page>
}
