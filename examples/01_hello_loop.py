"""Hello world: a policy that learns from demonstrations, then improves from its own episodes."""

import enpire

result = enpire.improve(
    task="pick_cube",
    robots=4,  # stations of the twin, side by side
    target=0.8,  # success rate on sealed seeds, which nothing that learns has seen
    sealed_episodes=100,
    demonstrations=30,
    start_episodes=60,
    collect=60,
    max_rounds=1,  # of collecting, training and comparing, if the first policy is not enough
    first_recipe_settings={"training": {"steps": 1500}},
    progress=True,
)

print(f"success   {result.start} at first, {result.success} now")
print(f"robots    {result.robot_hours:.2f} hours of robot time, {result.wall_s:.0f} s on the clock")
print(f"target    {result.target:g}, {'reached' if result.reached else 'not reached yet'}")
print(f"recorded  in {result.run.folder}: enpire show and the next examples read it")
