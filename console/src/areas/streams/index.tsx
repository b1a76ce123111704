/** The area Streams. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Streams(_: AreaProps) {
  return <Page title="Streams">{null}</Page>
}
