import { Component, type ReactNode } from 'react'
import { Problem } from './problem.tsx'

interface PageBoundaryProps {
  /** Where the reader is, and whether signed in: another place is tried anew. */
  at: string
  children: ReactNode
}

/** In place of a page that cannot be shown: the rest of the screen stays. Only React's classes can catch what is thrown below. */
export class PageBoundary extends Component<PageBoundaryProps, { hasFailed: boolean }> {
  override state = { hasFailed: false }

  static getDerivedStateFromError() {
    return { hasFailed: true }
  }

  override componentDidUpdate({ at }: PageBoundaryProps): void {
    if (at !== this.props.at && this.state.hasFailed) this.setState({ hasFailed: false })
  }

  override render(): ReactNode {
    if (!this.state.hasFailed) return this.props.children
    const message = 'This page cannot be shown. If the server was upgraded, reload the page.'
    return (
      <Problem
        failure={{ kind: 'broken', message }}
        retryName="Reload"
        onRetry={() => location.reload()}
      />
    )
  }
}
