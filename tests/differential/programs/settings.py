"""Names, uids, chaining, slot sharing groups and buffer timeouts change no result."""

from pyflink.common import Types
from timed import by_first, environment

env = environment()
stream = env.from_collection([("a", 1), ("b", 2), ("a", 3)]).name("letters").uid("source")
one = stream.map(lambda v: (v[0], v[1] + 1)).name("add").uid("add").disable_chaining()
two = (
    one.map(lambda v: v, Types.TUPLE([Types.STRING(), Types.INT()]))
    .start_new_chain()
    .set_description("typed")
)
three = (
    two.filter(lambda v: v[1] > 1).set_buffer_timeout(5).slot_sharing_group("default").force_non_parallel()
)
three.key_by(by_first).sum(1).name("sums").map(lambda v: f"{v[0]}> {v[1]}").print("sums").name("sink")
env.execute("with settings")
