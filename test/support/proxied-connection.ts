import { connect, type Socket } from 'node:net';
import { ProxyLane, type LaneName, type LaneSetting } from './proxy-lane.js';

interface Listener {
  heard: (lane: LaneName, bytes: Buffer) => void;
  closed: () => void;
}

/** One client's way through the proxy: its socket, the one to the server, and a lane in each direction. */
export class ProxiedConnection {
  private readonly target: Socket;
  private readonly lanes: Record<LaneName, ProxyLane>;

  constructor(
    private readonly client: Socket,
    targetPort: number,
    setting: Record<LaneName, LaneSetting>,
    private readonly listener: Listener,
  ) {
    this.target = connect({ port: targetPort, host: '127.0.0.1', allowHalfOpen: true, noDelay: true });
    this.lanes = {
      requests: new ProxyLane(this.target, setting.requests),
      replies: new ProxyLane(client, setting.replies),
    };
    this.join('requests', client);
    this.join('replies', this.target);
  }

  apply(lane: LaneName, setting: LaneSetting): void {
    const lossy = this.lanes[lane].lostBytes && setting.blocked === undefined;
    if (lossy) this.destroy();
    else this.lanes[lane].apply(setting);
  }

  destroy(): void {
    this.client.destroy();
    this.target.destroy();
    this.lanes.requests.clear();
    this.lanes.replies.clear();
    this.listener.closed();
  }

  reset(): void {
    this.client.resetAndDestroy();
    this.target.resetAndDestroy();
    this.destroy();
  }

  private join(name: LaneName, source: Socket): void {
    const lane = this.lanes[name];
    source.on('data', (bytes) => {
      this.listener.heard(name, bytes);
      lane.carry((sink) => sink.write(bytes), bytes.length);
    });
    source.on('end', () => lane.carry((sink) => sink.end()));
    source.on('error', () => undefined); // 'close' follows
    source.on('close', () =>
      lane.carry((sink) => {
        if (!sink.writableEnded) sink.destroy();
        if (this.client.destroyed && this.target.destroyed) this.destroy();
      }),
    );
  }
}
