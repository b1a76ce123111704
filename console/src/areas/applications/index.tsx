/** The area Applications. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Applications(_: AreaProps) {
  return <Page title="Applications">{null}</Page>
}
