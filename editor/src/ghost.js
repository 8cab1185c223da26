// Seats that are being moved: one picture of them, made when the movement begins, and drawn wherever the pointer takes it.

/** Ghost is the picture of some seats of a board. `to` says where it is drawn: {dx, dy, angle, about}. */
export class Ghost {
  to = { dx: 0, dy: 0 };
  isDropped = false;

  constructor(board, seats) {
    this.board = board;
    this.seats = seats;
  }

  // #make draws the seats that the screen shows, or may show when they are moved by its whole width.
  #make() {
    const { camera, hall, painter: { ratio, fills } } = this.board;
    this.scale = camera.scale;
    const [w, h] = [camera.width / camera.scale, camera.height / camera.scale];
    const view = { x0: camera.planX(0) - w, y0: camera.planY(0) - h, x1: camera.planX(camera.width) + w, y1: camera.planY(camera.height) + h };
    const box = { x0: Infinity, y0: Infinity, x1: -Infinity, y1: -Infinity };
    const seats = this.seats.filter((i) => hall.x[i] >= view.x0 && hall.x[i] <= view.x1 && hall.y[i] >= view.y0 && hall.y[i] <= view.y1);
    for (const i of seats) {
      box.x0 = Math.min(box.x0, hall.x[i]);
      box.y0 = Math.min(box.y0, hall.y[i]);
      box.x1 = Math.max(box.x1, hall.x[i]);
      box.y1 = Math.max(box.y1, hall.y[i]);
    }
    this.view = { x: camera.planX(0), y: camera.planY(0) };
    this.picture = undefined;
    if (seats.length === 0) return;
    const pixels = camera.scale * ratio;
    const border = hall.spacing;
    [this.x, this.y] = [box.x0 - border, box.y0 - border];
    [this.width, this.height] = [box.x1 - box.x0 + 2 * border, box.y1 - box.y0 + 2 * border];
    this.picture = document.createElement("canvas");
    Object.assign(this.picture, { width: Math.ceil(this.width * pixels), height: Math.ceil(this.height * pixels) });
    const c = this.picture.getContext("2d");
    const r = Math.max(1, hall.spacing * 0.42 * pixels);
    for (const category of new Set(seats.map((i) => hall.category[i]))) {
      c.beginPath();
      for (const i of seats) {
        if (hall.category[i] !== category) continue;
        const [x, y] = [(hall.x[i] - this.x) * pixels, (hall.y[i] - this.y) * pixels];
        c.moveTo(x + r, y);
        c.arc(x, y, r, 0, 2 * Math.PI);
      }
      c.fillStyle = fills[category] ?? this.board.painter.colors.taken;
      c.fill();
    }
  }

  draw(pen) {
    if (this.to === undefined) return;
    const { camera } = this.board;
    const hasMoved = this.scale !== camera.scale || Math.abs(camera.planX(0) - this.view.x) * camera.scale > camera.width / 2 || Math.abs(camera.planY(0) - this.view.y) * camera.scale > camera.height / 2;
    if (hasMoved) this.#make();
    if (this.picture !== undefined) pen.turned(this.picture, this, this.to);
  }
}
